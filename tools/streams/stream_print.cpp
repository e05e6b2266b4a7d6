#include "tools/streams/stream_print.h"

#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/abi/kernel_descriptor.h"
#include "core/packets/dump.h"
#include "core/packets/registers.h"

namespace doppel::streams {
namespace {

using namespace packets;

constexpr std::string_view kBold = "\033[1m", kRed = "\033[31m", kYellow = "\033[33m",
                           kDim = "\033[2m", kReset = "\033[0m";

std::string_view color_of(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return kRed;
    case Severity::Warning:
      return kYellow;
    case Severity::Note:
      return kDim;
  }
  return kReset;
}

/// What the kernel object of a dispatch says, if its bytes are known.
std::string descriptor_text(const Packet& packet, const WalkOptions& options) {
  if (!options.memory || packet.aql_id() != aql::Id::KernelDispatch || !packet.ok()) return {};
  const uint64_t address = packet.as<aql::KernelDispatch>().kernel_object();
  const auto dwords = options.memory->at(address, sizeof(abi::KernelDescriptor) / 4);
  abi::KernelDescriptor kernel{};
  if (dwords.size_bytes() != sizeof(kernel)) return {};
  std::memcpy(&kernel, dwords.data(), sizeof(kernel));
  auto reg = [&](const RegisterRow& row, uint32_t value) {
    return describe_register(row.in(packet.family), value, packet.family);
  };
  return fmt::format(
      "  kernel descriptor at 0x{:x}: entry 0x{:x}, LDS {}, scratch {}, kernarg {} bytes, "
      "properties 0x{:x}\n    {}\n    {}\n    {}\n",
      address, address + static_cast<uint64_t>(kernel.kernel_code_entry_byte_offset),
      kernel.group_segment_fixed_size, kernel.private_segment_fixed_size, kernel.kernarg_size,
      kernel.kernel_code_properties, reg(regs::COMPUTE_PGM_RSRC1, kernel.compute_pgm_rsrc1),
      reg(regs::COMPUTE_PGM_RSRC2, kernel.compute_pgm_rsrc2),
      reg(regs::COMPUTE_PGM_RSRC3, kernel.compute_pgm_rsrc3));
}

void append_indented(std::string& out, std::string_view text, int depth) {
  const std::string indent(static_cast<size_t>(depth) * 4, ' ');
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += indent;
    out += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
}

packets::DumpOptions dump_options(const AddressNames* names) {
  packets::DumpOptions options;
  if (names && !names->empty())
    options.address_name = [names](uint64_t address) { return names->name_of(address); };
  return options;
}

}  // namespace

TextPrinter::TextPrinter(const WalkOptions& options, bool color)
    : options_(options), color_(color), dumper_(dump_options(options.names)) {}

void TextPrinter::append(std::string& out, const Visit& visit) {
  if (visit.depth == 0) return append_flat(out, visit);
  text_.clear();
  append_flat(text_, visit);
  append_indented(out, text_, visit.depth);
}

void TextPrinter::append_flat(std::string& out, const Visit& visit) {
  const auto paint = [&](std::string_view code) { return color_ ? code : std::string_view{}; };
  append_offset(out, static_cast<uint32_t>(visit.offset));
  out += paint(kBold);
  if (visit.packet.row)
    out += visit.packet.row->name;
  else
    out += visit.packet.name();
  out += paint(kReset);
  out += '\n';
  dumper_.append_dwords(out, visit.packet, static_cast<uint32_t>(visit.offset));
  out += descriptor_text(visit.packet, options_);
  const auto write = std::back_inserter(out);
  for (const Problem& problem : visit.problems) {
    fmt::format_to(write, "  {}{}{}: {}{}{}\n", paint(color_of(problem.severity)),
                   to_string(problem.severity), paint(kReset), problem.message,
                   problem.rule.empty() ? "" : " ",
                   problem.rule.empty() ? "" : fmt::format("[{}]", problem.rule));
  }
  if (visit.skipped) {
    const size_t next = visit.offset + visit.skipped;
    fmt::format_to(write, "  {}sync lost at {:05x}:{} {} dwords skipped, {}\n", paint(kRed),
                   visit.offset, paint(kReset), visit.skipped,
                   visit.resumes ? fmt::format("the next plausible packet is at {:05x}", next)
                                 : "to the end of the stream");
  }
}

std::string to_json(const Visit& visit, const std::string& segment) {
  nlohmann::ordered_json row;
  if (!segment.empty()) row["segment"] = segment;
  row["offset"] = visit.offset;
  row["depth"] = visit.depth;
  row["language"] = to_string(visit.packet.language);
  row["packet"] = visit.packet.name();
  for (uint32_t dword : visit.packet.dwords) row["dwords"].push_back(fmt::format("{:08x}", dword));
  row["fields"] = nlohmann::ordered_json::object();
  for (const FieldText& field : describe_fields(visit.packet)) {
    row["fields"][std::string(field.field->name)] = {{"value", field.value}, {"text", field.text}};
  }
  row["problems"] = nlohmann::ordered_json::array();
  for (const Problem& problem : visit.problems) {
    nlohmann::ordered_json item = {{"severity", to_string(problem.severity)},
                                   {"kind", to_string(problem.kind)},
                                   {"dword", problem.dword},
                                   {"message", problem.message}};
    if (!problem.field.empty()) item["field"] = problem.field;
    if (!problem.rule.empty()) item["rule"] = problem.rule;
    row["problems"].push_back(std::move(item));
  }
  if (visit.skipped) {
    row["skipped"] = visit.skipped;
    if (visit.resumes) row["resumes"] = visit.offset + visit.skipped;
  }
  return row.dump() + "\n";
}

}  // namespace doppel::streams
