#include "program/gspmd.h"

#include <numeric>
#include <utility>

#include "program/text_cursor.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMaxDevices = int64_t{1} << 20;

Ints ParseList(TextCursor& in) {
  Ints list;
  in.Expect("[");
  do list.push_back(in.Integer());
  while (in.ok() && in.Accept(","));
  in.Expect("]");
  return list;
}

// The product; 0 when it is no number of devices.
int64_t Product(const Ints& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 1 || size > kMaxDevices / product) return 0;
    product *= size;
  }
  return product;
}

// The numbers 0, 1, 2 ... laid out as `sizes`, row-major, then transposed.
Ints Iota(const Ints& sizes, const Ints& permutation) {
  Ints strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  Ints out = {0};
  for (int64_t d : permutation) {
    Ints longer;
    for (int64_t start : out)
      for (int64_t i = 0; i < sizes[size_t(d)]; ++i)
        longer.push_back(start + i * strides[size_t(d)]);
    out = std::move(longer);
  }
  return out;
}

bool IsPermutation(const Ints& permutation, size_t size) {
  std::vector<bool> seen(size, false);
  for (int64_t d : permutation) {
    if (d < 0 || d >= int64_t(size) || seen[size_t(d)]) return false;
    seen[size_t(d)] = true;
  }
  return permutation.size() == size;
}

// What follows the tiles: <=[4], <=[2,2]T(1,0) or the devices one by one. Empty: not understood.
Ints ParseDevices(TextCursor& in) {
  Ints devices;
  if (!in.Accept("<=")) {
    do devices.push_back(in.Integer());
    while (in.ok() && in.Accept(","));
    return devices;
  }
  const Ints sizes = ParseList(in);
  Ints permutation(sizes.size());
  std::iota(permutation.begin(), permutation.end(), int64_t{0});
  if (in.Accept("T(")) {
    permutation.clear();
    do permutation.push_back(in.Integer());
    while (in.ok() && in.Accept(","));
    in.Expect(")");
  }
  if (!in.ok() || Product(sizes) == 0 || !IsPermutation(permutation, sizes.size())) return {};
  return Iota(sizes, permutation);
}

bool IsInOrder(const Ints& devices) {
  for (size_t i = 0; i < devices.size(); ++i)
    if (devices[i] != int64_t(i)) return false;
  return true;
}

}  // namespace

backend::Result<Sharding> ParseGspmdSharding(std::string_view text, size_t rank) {
  Sharding sharding;
  sharding.dims.resize(rank);
  backend::Status status;
  TextCursor in(text, &status);
  const auto refuse = [&] {
    return backend::InvalidArgument("the sharding '" + std::string(text) +
                                    "' of a tensor of rank " + std::to_string(rank) +
                                    " is not understood");
  };
  in.Expect("{");
  if (!in.Accept("devices")) {
    const std::string word = in.Word();
    const bool known =
        word == "replicated" || word == "manual" || word == "unknown" || word == "maximal";
    return in.ok() && known ? backend::Result<Sharding>(std::move(sharding)) : refuse();
  }
  in.Expect("=");
  const Ints tiles = ParseList(in);
  Ints devices = ParseDevices(in);
  // What remains names the tile dimensions beyond the tensor's: they hold copies.
  if (!in.ok() || !text.ends_with('}') || tiles.size() < rank || devices.empty() ||
      Product(tiles) != int64_t(devices.size())) {
    return refuse();
  }
  for (size_t t = 0; t < tiles.size(); ++t) {
    if (tiles[t] == 1) continue;
    const std::string axis = "axis_" + std::to_string(t);
    sharding.inlined_mesh.axes.emplace_back(axis, tiles[t]);
    if (t < rank) sharding.dims[t].axes.push_back({axis});
  }
  if (!IsInOrder(devices)) sharding.inlined_mesh.device_ids = std::move(devices);
  return sharding;
}

std::string GspmdText(const std::vector<int64_t>& tiles, const std::vector<int64_t>& devices) {
  const int64_t parts = Product(tiles);
  if (parts <= 1) return "{replicated}";
  const int64_t copies = int64_t(devices.size()) / parts;
  const auto list = [](const Ints& numbers) {
    std::string out;
    for (int64_t number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
    return out;
  };
  Ints dims = tiles;
  if (copies > 1) dims.push_back(copies);
  return "{devices=[" + list(dims) + "]" + list(devices) +
         (copies > 1 ? " last_tile_dim_replicate}" : "}");
}

}  // namespace PJRT_PLUGIN_NS::program
