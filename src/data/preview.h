// The first rows of a table, or a summary of a dataset's files by type and size.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "data/definition.h"
#include "data/manifest.h"

namespace slipway::data {

// The first bytes of a file.
using ReadBeginning = std::function<Result<std::string>(const File& file, uint64_t bytes)>;

// {"kind": "rows", "columns": [...], "rows": [[text or null, ...]], "more": bool}: delimited and JSON lines.
// {"kind": "summary", "files", "bytes", "types": [{"type", "files", "bytes", "smallest", "largest"}]}: files.
// {"kind": "note", "note"}: Parquet, which the Python side reads.
Result<json::object> preview(const Definition& definition, const Manifest& manifest, size_t rows,
                             const ReadBeginning& read);

// Cuts delimited text into rows; fields in quotes may hold separators, line ends and doubled quotes. What
// stands behind the last line end is a row too, unless `cut`: then it may be half of one.
std::vector<std::vector<std::string>> split_delimited(std::string_view text, char separator, bool cut,
                                                      size_t limit);

}  // namespace slipway::data
