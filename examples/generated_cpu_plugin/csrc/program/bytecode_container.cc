#include "program/bytecode_container.h"

#include <array>
#include <optional>
#include <string>

namespace PJRT_PLUGIN_NS::program {
namespace {

enum SectionId : uint8_t {
  kStrings,
  kDialects,
  kEntries,
  kEntryOffsets,
  kIr,
  kResources,
  kResourceOffsets,
  kDialectVersions,
  kProperties,
  kNumSections,
};

using Sections = std::array<std::optional<Cursor>, kNumSections>;

Sections SplitSections(Cursor& in) {
  Sections sections;
  while (!in.done()) {
    const size_t begin = in.offset();
    uint8_t id = 0;
    Cursor section = ReadSection(in, &id);
    if (id >= kNumSections || sections[id]) {
      in.Fail("section " + std::to_string(id) + " (begun at byte " + std::to_string(begin) + ") " +
              (id >= kNumSections ? "is unknown" : "occurs twice"));
    } else {
      sections[id] = section;
    }
  }
  for (SectionId id : {kStrings, kDialects, kEntries, kEntryOffsets, kIr, kProperties})
    if (!sections[id]) in.Fail("section " + std::to_string(id) + " is missing; is it truncated?");
  return sections;
}

// Sizes come first, those of the last string first, then all texts with their closing NULs.
void ReadStrings(Cursor in, std::vector<std::string_view>& strings) {
  const size_t count = in.Count(2);
  std::vector<uint64_t> sizes(count);
  for (size_t i = count; i-- > 0;) sizes[i] = in.Varint();
  strings.reserve(count);
  for (uint64_t size : sizes) {
    const std::string_view text = in.Bytes(size);
    if (text.empty() || text.back() != '\0') return in.Fail("a string without its closing NUL");
    strings.push_back(text.substr(0, text.size() - 1));
  }
  in.ExpectDone("the string section");
}

void ReadDialects(Cursor in, Container& file) {
  for (size_t n = in.Count(); n > 0; --n) {
    const auto [index, has_version] = in.FlaggedVarint();
    const size_t name = in.CheckedIndex(index, file.strings.size(), "strings");
    if (!in.ok()) return;
    file.dialects.push_back(file.strings[name]);
    uint8_t id = kDialectVersions;
    if (has_version) ReadSection(in, &id);
    if (id != kDialectVersions) in.Fail("a dialect's version is no section 7");
  }
  const size_t total = in.Count();
  while (!in.done()) {
    const size_t dialect = in.Index(file.dialects.size(), "dialects");
    for (size_t n = in.Count(); n > 0; --n) {
      const auto [index, registered] = in.FlaggedVarint();
      const size_t name = in.CheckedIndex(index, file.strings.size(), "strings");
      if (!in.ok()) return;
      file.op_names.push_back({file.dialects[dialect], file.strings[name], registered});
    }
  }
  if (total != file.op_names.size())
    in.Fail(std::to_string(total) + " op names announced, " + std::to_string(file.op_names.size()) +
            " found");
}

void ReadEntryGroups(Cursor& in, Cursor& data, size_t count, const Container& file,
                     std::vector<Container::Entry>& entries) {
  entries.reserve(count);
  while (in.ok() && entries.size() < count) {
    const size_t dialect = in.Index(file.dialects.size(), "dialects");
    const size_t group = in.Count();
    if (group > count - entries.size()) in.Fail("more attributes or types than announced");
    for (size_t i = 0; i < group && in.ok(); ++i) {
      const auto [size, custom] = in.FlaggedVarint();
      entries.push_back({file.dialects[dialect], custom, data.Sub(size)});
    }
  }
}

void ReadEntries(Cursor offsets, Cursor data, Container& file) {
  const size_t num_attributes = offsets.Count();
  const size_t num_types = offsets.Count();
  ReadEntryGroups(offsets, data, num_attributes, file, file.attributes);
  ReadEntryGroups(offsets, data, num_types, file, file.types);
  offsets.ExpectDone("the section of attribute and type offsets");
  data.ExpectDone("the section of attributes and types");
}

void ReadProperties(Cursor in, std::vector<Cursor>& properties) {
  if (in.done()) return;
  for (size_t n = in.Count(); n > 0 && in.ok(); --n) properties.push_back(in.Sub(in.Varint()));
  in.ExpectDone("the property section");
}

}  // namespace

bool IsBytecode(std::string_view code) { return code.starts_with("ML\xefR"); }

Cursor ReadSection(Cursor& in, uint8_t* id) {
  const uint8_t byte = in.Byte();
  *id = byte & 0x7f;
  const uint64_t size = in.Varint();
  if (byte & 0x80) in.Align(in.Varint());
  return in.Sub(size);
}

Container ReadContainer(std::string_view code, backend::Status* status) {
  Container file;
  Cursor in(code, 0, status);
  if (!IsBytecode(code)) {
    in.Fail("it does not begin with the bytes 4d 4c ef 52");
    return file;
  }
  in.Bytes(4);
  const uint64_t version = in.Varint();
  if (!in.ok()) return file;
  if (version != kBytecodeVersion) {
    *status = backend::Unimplemented(
        "MLIR bytecode of version " + std::to_string(version) + "; this reader reads version " +
        std::to_string(kBytecodeVersion) +
        ", which frameworks write for every StableHLO version from 0.15.0 on. Serialize the "
        "program as a portable artifact for StableHLO 1.13.0");
    return file;
  }
  file.producer = in.CString();
  const Sections sections = SplitSections(in);
  if (!status->ok()) return file;
  ReadStrings(*sections[kStrings], file.strings);
  ReadDialects(*sections[kDialects], file);
  ReadEntries(*sections[kEntryOffsets], *sections[kEntries], file);
  ReadProperties(*sections[kProperties], file.properties);
  file.ir = *sections[kIr];
  return file;
}

}  // namespace PJRT_PLUGIN_NS::program
