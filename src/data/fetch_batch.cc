#include "data/fetch_batch.h"

#include "snapshot/parallel.h"

namespace slipway::data {

FetchBatch::FetchBatch(Fetcher& fetcher, FileCache& cache, std::span<const WantedFile> files,
                       FetchProgress& progress, const Fetcher::Place& place)
    : fetcher_(fetcher), cache_(cache), files_(files), progress_(progress), place_(place) {
  units_.reserve(files.size());
  for (uint32_t index = 0; index < files.size(); ++index) {
    const uint64_t size = files[index].file->size;
    if (size <= PartialFile::kChunk) {
      units_.push_back({.file = index, .span = 0});
      continue;
    }
    const auto spans = static_cast<uint32_t>((size - 1) / (kSpan * PartialFile::kChunk) + 1);
    large_[index].spans_left = spans;
    for (uint32_t span = 0; span < spans; ++span) units_.push_back({.file = index, .span = span});
  }
}

Status FetchBatch::run(size_t workers) {
  return snapshot::parallel_for(units_.size(), workers,
                                [this](size_t /*worker*/, size_t index) { return carry_out(units_[index]); });
}

Status FetchBatch::carry_out(const Unit& unit) {
  const WantedFile& file = files_[unit.file];
  const auto large = large_.find(unit.file);
  if (large == large_.end()) {
    progress_.bytes += file.file->size;
    return give(file);
  }
  SLIPWAY_TRY(fetch_span(file, large->second, unit.span));
  if (--large->second.spans_left > 0) return {};
  // Chunks that another process had claimed may still be missing: whoever gives the file away waits for them.
  return give(file);
}

Status FetchBatch::open(const WantedFile& file, Large& large) {
  const std::lock_guard lock(large.mutex);
  if (large.opened) return {};
  if (!cache_.holds(file.key, file.file->size)) {
    SLIPWAY_ASSIGN(large.partial, cache_.open_partial(file.key, file.file->size));
  }
  if (large.partial != nullptr) {
    for (size_t chunk = 0; chunk < large.partial->chunks(); ++chunk)
      if (large.partial->has(chunk)) progress_.bytes += large.partial->length_of(chunk);
  } else {
    progress_.bytes += file.file->size;
  }
  large.opened = true;
  return {};
}

Status FetchBatch::fetch_span(const WantedFile& file, Large& large, size_t span) {
  SLIPWAY_TRY(open(file, large));
  if (large.partial == nullptr) return {};
  const size_t end = std::min((span + 1) * kSpan, large.partial->chunks());
  for (size_t chunk = span * kSpan; chunk < end; ++chunk)
    SLIPWAY_TRY(fetcher_.ensure(file, *large.partial, chunk, end - chunk - 1, progress_));
  return {};
}

Status FetchBatch::give(const WantedFile& file) {
  SLIPWAY_ASSIGN(const UniqueFd fd, fetcher_.fetch(file, progress_));
  SLIPWAY_TRY(place_(file, fd.get()));
  ++progress_.files;
  return {};
}

}  // namespace slipway::data
