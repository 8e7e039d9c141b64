#pragma once

#include <string>

namespace wam {

// The commit this executable was built from, with "+changes" when the tree had uncommitted ones.
// "unknown" without git.
extern const char* const kCommit;

// "wamtrain 0.1.0 (abcdef0)", for logs and checkpoints.
std::string version_line();
// What `wamtrain --version` prints: version, commit, LibTorch, CUDA, build type, compiler.
std::string version_text();

}  // namespace wam
