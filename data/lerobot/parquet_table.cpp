#include "data/lerobot/parquet_table.h"

#include <algorithm>
#include <mutex>

#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/util/io_util.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "core/base/data_errors.h"
#include "core/base/names.h"
#include "core/base/now_reading.h"
#include "data/lerobot/arrow_decode.h"
#include "data/lerobot/row_reader.h"

namespace wam {
namespace {

constexpr const char* kRestore = "Fix: restore the file from the dataset's source.";

void require_ok(const arrow::Status& status, const std::string& doing) {
  if (status.ok()) return;
  // The system's own number is there when it was the file system that refused.
  if (arrow::internal::ErrnoFromStatus(status) != 0) {
    throw ReadError(fmt::format("{}: {}. Fix: check the file system and who may read the file.",
                                doing, status.message()));
  }
  throw DataError(fmt::format("{}: {}. {}", doing, status.message(), kRestore));
}

template <class T>
T value_of(arrow::Result<T> result, const std::string& doing) {
  require_ok(result.status(), doing);
  return std::move(result).ValueUnsafe();
}

// Runs `read`, turning parquet's own exceptions into errors of ours.
template <class F>
auto told(const std::filesystem::path& path, const std::string& doing, F&& read) {
  const Reading reading(path);
  try {
    return read();
  } catch (const Error&) {
    throw;
  } catch (const parquet::ParquetStatusException& e) {
    require_ok(e.status(), doing);
    throw;
  } catch (const std::exception& e) {
    throw DataError(fmt::format("{}: {}. {}", doing, e.what(), kRestore));
  }
}

}  // namespace

std::size_t TableChunk::bytes() const {
  std::size_t sum = value_LD.defined() ? value_LD.nbytes() : 0;
  for (const std::string& cell : text) sum += cell.size() + sizeof(std::string);
  return sum;
}

struct ParquetTable::Impl {
  std::filesystem::path path;
  std::unique_ptr<parquet::arrow::FileReader> reader;
  std::unique_ptr<parquet::ParquetFileReader> row_reader;  // reads pages one by one
  std::vector<TableColumn> columns;
  std::vector<std::int64_t> row_starts{0};
  std::mutex mutex;

  void open();
  void list_columns();
  [[nodiscard]] std::vector<int> leaves_of(const std::string& column) const;
};

void ParquetTable::Impl::open() {
  const std::string doing = fmt::format("opening the table {}", path.string());
  std::error_code why;
  const bool is_there = std::filesystem::exists(path, why);
  require<ReadError>(is_there, "{}: {}. {}", doing, why ? why.message() : "no such file", kRestore);
  const auto file = value_of(arrow::io::ReadableFile::Open(path.string()), doing);
  reader = value_of(parquet::arrow::OpenFile(file, arrow::default_memory_pool()), doing);
  reader->set_use_threads(false);
  const auto metadata = reader->parquet_reader()->metadata();
  parquet::ReaderProperties by_page;
  by_page.enable_buffered_stream();
  row_reader = parquet::ParquetFileReader::Open(file, by_page, metadata);
  for (int group = 0; group < metadata->num_row_groups(); ++group) {
    row_starts.push_back(row_starts.back() + metadata->RowGroup(group)->num_rows());
  }
  list_columns();
}

void ParquetTable::Impl::list_columns() {
  std::shared_ptr<arrow::Schema> schema;
  require_ok(reader->GetSchema(&schema), fmt::format("reading the columns of {}", path.string()));
  for (const auto& field : schema->fields()) {
    columns.push_back({field->name(), kind_of(*field->type()), field->type()->ToString()});
  }
}

std::vector<int> ParquetTable::Impl::leaves_of(const std::string& column) const {
  const parquet::SchemaDescriptor& schema = *reader->parquet_reader()->metadata()->schema();
  std::vector<int> leaves;
  for (int i = 0; i < schema.num_columns(); ++i) {
    if (schema.GetColumnRoot(i)->name() == column) leaves.push_back(i);
  }
  return leaves;
}

ParquetTable::ParquetTable(const std::filesystem::path& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  told(path, fmt::format("opening the table {}", path.string()), [&] { impl_->open(); });
}

ParquetTable::~ParquetTable() = default;

const std::vector<TableColumn>& ParquetTable::columns() const noexcept {
  return impl_->columns;
}

const std::vector<std::int64_t>& ParquetTable::row_starts() const noexcept {
  return impl_->row_starts;
}

const TableColumn& ParquetTable::column(const std::string& name) const {
  const auto found = std::find_if(impl_->columns.begin(), impl_->columns.end(),
                                  [&](const TableColumn& c) { return c.name == name; });
  if (found != impl_->columns.end()) return *found;
  std::vector<std::string> names;
  for (const TableColumn& c : impl_->columns) names.push_back(c.name);
  const auto nearest = nearest_name(name, names);
  throw DataError(fmt::format("the table {} has no column '{}'. Found: {}. Fix: {}",
                              impl_->path.string(), name, join(names),
                              nearest
                                  ? "did you mean '" + *nearest + "'?"
                                  : "name the right column in meta/modality.json, or choose the "
                                    "embodiment that the dataset was recorded with."));
}

std::shared_ptr<TableChunk> ParquetTable::read(const std::string& name, std::size_t group) const {
  static_cast<void>(column(name));
  const std::string where = fmt::format("reading column '{}' of {}", name, impl_->path.string());
  const auto table = told(impl_->path, where, [&] {
    const std::lock_guard lock(impl_->mutex);
    return value_of(impl_->reader->ReadRowGroup(static_cast<int>(group), impl_->leaves_of(name)),
                    where);
  });
  auto chunk = std::make_shared<TableChunk>(decode_column(*table->column(0), where));
  const auto rows = static_cast<std::size_t>(row_starts()[group + 1] - row_starts()[group]);
  const std::size_t found = chunk->value_LD.defined()
                                ? static_cast<std::size_t>(chunk->value_LD.size(0))
                                : chunk->text.size();
  require<DataError>(found == rows, "{}: {} rows, expected {}. {}", where, found, rows, kRestore);
  return chunk;
}

std::int64_t ParquetTable::row_bytes(const std::string& name, std::size_t group) const {
  if (column(name).kind != ColumnKind::kNumbers) return 0;
  const auto leaves = impl_->leaves_of(name);
  if (leaves.size() != 1) return 0;
  return wam::row_bytes(*impl_->row_reader->metadata(), leaves[0], static_cast<int>(group));
}

std::shared_ptr<TableChunk> ParquetTable::read_rows(const std::string& name,
                                                    std::size_t group,
                                                    std::int64_t first,
                                                    std::int64_t end) const {
  const std::string where = fmt::format("reading column '{}' of {}", name, impl_->path.string());
  auto chunk = std::make_shared<TableChunk>();
  told(impl_->path, where, [&] {
    const std::lock_guard lock(impl_->mutex);
    chunk->value_LD = wam::read_rows(*impl_->row_reader, impl_->leaves_of(name).at(0),
                                     static_cast<int>(group), first, end, where);
  });
  return chunk;
}

std::vector<TableChunk> ParquetTable::read_whole(const std::vector<std::string>& columns) const {
  const std::string where = fmt::format("reading {}", impl_->path.string());
  std::vector<int> leaves;
  for (const std::string& name : columns) {
    static_cast<void>(column(name));
    for (const int leaf : impl_->leaves_of(name)) leaves.push_back(leaf);
  }
  const auto table = told(impl_->path, where, [&] {
    const std::lock_guard lock(impl_->mutex);
    return value_of(impl_->reader->ReadTable(leaves), where);
  });
  std::vector<TableChunk> out;
  for (const std::string& name : columns) {
    const auto cells = table->GetColumnByName(name);
    require<DataError>(cells != nullptr, "{}: two columns are named '{}'. {}", where, name,
                       kRestore);
    out.push_back(
        decode_column(*cells, fmt::format("column '{}' of {}", name, impl_->path.string())));
  }
  return out;
}

std::vector<std::optional<bool>> ParquetTable::read_flags(const std::string& name) const {
  static_cast<void>(column(name));
  const std::string where = fmt::format("column '{}' of {}", name, impl_->path.string());
  const auto table = told(impl_->path, "reading " + where, [&] {
    const std::lock_guard lock(impl_->mutex);
    return value_of(impl_->reader->ReadTable(impl_->leaves_of(name)), "reading " + where);
  });
  return decode_flags(*table->column(0), where);
}

}  // namespace wam
