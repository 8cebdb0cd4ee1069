#include "program/text_sdy.h"

#include <cstdlib>
#include <string>
#include <utility>

namespace PJRT_PLUGIN_NS::program {
namespace {

AxisRef ParseAxis(TextCursor& in) {
  AxisRef axis;
  axis.name = in.Quoted();
  if (!in.Accept(":")) return axis;
  in.Expect("(");
  axis.pre_size = in.Integer();
  in.Expect(")");
  axis.size = in.Integer();
  return axis;
}

std::vector<AxisRef> ParseAxes(TextCursor& in) {
  std::vector<AxisRef> axes;
  in.Expect("{");
  while (in.Peek() == '"') {
    axes.push_back(ParseAxis(in));
    if (!in.Accept(",")) break;
  }
  in.Expect("}");
  return axes;
}

DimSharding ParseDimSharding(TextCursor& in) {
  DimSharding dim;
  in.Expect("{");
  do {
    if (in.Accept("?")) dim.closed = false;
    if (in.Peek() == '"') dim.axes.push_back(ParseAxis(in));
  } while (in.ok() && in.Accept(","));
  in.Expect("}");
  if (in.Peek() == 'p') dim.priority = std::atoll(in.Word().c_str() + 1);
  return dim;
}

}  // namespace

Mesh ParseMesh(TextCursor& in) {
  Mesh mesh;
  in.Expect("<");
  in.Expect("[");
  while (in.Peek() == '"') {
    std::string name = in.Quoted();
    in.Expect("=");
    mesh.axes.emplace_back(std::move(name), in.Integer());
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  if (in.Accept(",")) {
    in.Expect("device_ids");
    in.Expect("=");
    in.Expect("[");
    do mesh.device_ids.push_back(in.Integer());
    while (in.ok() && in.Accept(","));
    in.Expect("]");
  }
  in.Expect(">");
  return mesh;
}

Sharding ParseSharding(TextCursor& in) {
  Sharding sharding;
  in.Expect("<");
  if (in.Accept("@")) {
    sharding.mesh = in.Peek() == '"' ? in.Quoted() : in.Name();
  } else {
    in.Expect("mesh");
    sharding.inlined_mesh = ParseMesh(in);
  }
  in.Expect(",");
  in.Expect("[");
  while (in.Peek() == '{') {
    sharding.dims.push_back(ParseDimSharding(in));
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  while (in.Accept(",")) {
    const bool replicated = in.Accept("replicated");
    if (!replicated) in.Expect("unreduced");
    in.Expect("=");
    (replicated ? sharding.replicated : sharding.unreduced) = ParseAxes(in);
  }
  in.Expect(">");
  return sharding;
}

std::vector<Attribute> ParseShardings(TextCursor& in) {
  std::vector<Attribute> list;
  in.Expect("[");
  while (in.ok() && in.Peek() == '<') {
    list.push_back({ParseSharding(in)});
    if (!in.Accept(",")) break;
  }
  in.Expect("]");
  return list;
}

std::vector<Attribute> ParseManualAxes(TextCursor& in) {
  std::vector<Attribute> list;
  for (AxisRef& axis : ParseAxes(in)) list.push_back({std::move(axis.name)});
  return list;
}

}  // namespace PJRT_PLUGIN_NS::program
