#pragma once

#include "core/base/errors.h"

namespace wam {

// Reading failed, not what was read: a file is missing, or the file system refuses. May pass.
class ReadError : public DataError {
 public:
  using DataError::DataError;
};

// What was read cannot be trained on, however often it is read: a video that is cut off, a value
// that is no number.
class ContentError : public DataError {
 public:
  using DataError::DataError;
};

}  // namespace wam
