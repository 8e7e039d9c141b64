#pragma once

#include <algorithm>
#include <cstddef>

#include "data/lerobot/table_store.h"
#include "data/video/video_store.h"

namespace wam {

// What is kept of the files of all datasets together. Decoders are what costs memory: a few MB each
// at 320x180.
struct OpenFilesOptions {
  std::size_t column_cache_bytes = std::size_t{64} << 20U;  // decoded table columns, at most 1,024
  std::size_t max_tables = 64;
  std::size_t max_decoders = 32;
  std::size_t video_index_bytes = std::size_t{16} << 20U;  // frame times, of at most 1,024 videos

  // With room for what so many threads read at once.
  static OpenFilesOptions for_threads(std::size_t threads) {
    OpenFilesOptions out;
    out.max_tables = std::max(out.max_tables, 2 * threads);
    out.max_decoders = std::max(out.max_decoders, 2 * threads);
    return out;
  }
};

// The tables and videos that were used last, which stay open. The readers of a mixture share one:
// hundreds of datasets take no more memory and files than one does.
//
// Threads: any.
struct OpenFiles {
  explicit OpenFiles(const OpenFilesOptions& options = {})
      : tables(options.max_tables, options.column_cache_bytes),
        videos({options.max_decoders, options.video_index_bytes}) {}

  TableStore tables;
  VideoStore videos;
};

}  // namespace wam
