#include "data/datastore.h"

namespace slipway::data {

Result<Object> Datastore::hash(const std::string& path, std::span<char> /*buffer*/) {
  Hasher hasher;
  uint64_t size = 0;
  SLIPWAY_ASSIGN(Object object, read(path, {}, "", [&](std::string_view bytes) -> Status {
                   hasher.update(bytes);
                   size += bytes.size();
                   return {};
                 }));
  object.path = path;
  object.size = size;
  object.digest = hasher.finish();
  return object;
}

Status list_all(Datastore& datastore, const std::string& prefix,
                const std::function<Status(Object&&)>& on_object) {
  ListRequest request{.prefix = prefix};
  do {
    SLIPWAY_ASSIGN(Page page, datastore.list(request));
    for (Object& object : page.objects) SLIPWAY_TRY(on_object(std::move(object)));
    request.after = std::move(page.next);
  } while (!request.after.empty());
  return {};
}

}  // namespace slipway::data
