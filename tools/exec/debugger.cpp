#include "tools/exec/debugger.h"

#include <algorithm>
#include <istream>
#include <ostream>
#include <sstream>

#include <fmt/format.h>

#include "emulator/dispatch/workgroup.h"
#include "emulator/profile/kernel_profile.h"
#include "tools/exec/arg_spec.h"

namespace doppel::exec {
namespace {

constexpr uint32_t kRow = 8;  // registers or lanes a line
constexpr uint64_t kMaxDwords = 1024;

/// Sets the shown rows of values apart: "  s[0:7]    0x... 0x...".
std::string row_of(std::string_view label, std::span<const uint32_t> values) {
  std::string text = fmt::format("  {:<10}", label);
  for (const uint32_t value : values) text += fmt::format(" {:08x}", value);
  return text + "\n";
}

}  // namespace

uint32_t number_of(const emu::Wave& wave) {
  return static_cast<uint32_t>(wave.workgroup->linear() * wave.workgroup->wave_count()) +
         wave.index;
}

void Debugger::prepare(const Options& options) {
  breakpoints_.insert(options.breakpoints.begin(), options.breakpoints.end());
  if (options.stop_at_start) steps_left_ = 0;
}

void Debugger::before(const emu::Wave& wave, const isa::Inst& inst) {
  if (!active() || !stops_at(wave, inst.pc - wave.workgroup->program())) return;
  steps_left_.reset();
  show_place(wave, inst);
  converse(wave, inst);
}

bool Debugger::stops_at(const emu::Wave& wave, uint64_t offset) {
  const uint32_t number = number_of(wave);
  if (only_wave_ && *only_wave_ != number) return false;
  if (steps_left_ && (!stepping_wave_ || *stepping_wave_ == number)) {
    if (*steps_left_ == 0) return true;
    --*steps_left_;
  }
  return breakpoints_.contains(offset);
}

void Debugger::show_place(const emu::Wave& wave, const isa::Inst& inst) {
  const auto& id = wave.workgroup->id();
  output_ << fmt::format("wave {} (workgroup {},{},{}) pc +{:#x}: {}\n", number_of(wave), id[0],
                         id[1], id[2], inst.pc - wave.workgroup->program(),
                         profile::text_of(wave, inst));
}

void Debugger::converse(const emu::Wave& wave, const isa::Inst& inst) {
  std::string line;
  while (true) {
    output_.flush();
    if (!std::getline(commands_, line)) break;
    output_ << fmt::format("> {}\n", line);
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty() || words[0].starts_with('#')) continue;
    if (obey(words, wave, inst) == Next::Run) return;
  }
  breakpoints_.clear();
}

Debugger::Next Debugger::obey(const std::vector<std::string>& words, const emu::Wave& wave,
                              const isa::Inst& inst) {
  const std::string& verb = words[0];
  if (verb == "step" || verb == "s") return step(words, wave);
  if (verb == "continue" || verb == "c") return Next::Run;
  if (verb == "detach") {
    breakpoints_.clear();
    return Next::Run;
  }
  if (verb == "break" || verb == "b") {
    set_breakpoint(words, true);
  } else if (verb == "delete") {
    set_breakpoint(words, false);
  } else if (verb == "wave") {
    choose_wave(words);
  } else if (verb == "where") {
    show_place(wave, inst);
  } else if (verb == "sgprs") {
    show_sgprs(words, wave);
  } else if (verb == "vgprs") {
    show_vgprs(words, wave);
  } else if (verb == "state") {
    show_state(wave);
  } else if (verb == "memory") {
    show_memory(words, wave);
  } else if (verb == "watch") {
    add_watch(words);
  } else {
    mistake(fmt::format("There is no such command ({}).", verb));
  }
  return Next::Ask;
}

std::optional<std::vector<uint64_t>> Debugger::numbers(const std::vector<std::string>& words) {
  std::vector<uint64_t> values;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto value = parse_integer(words[i]);
    if (!value) {
      mistake(value.error().message());
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

Debugger::Next Debugger::step(const std::vector<std::string>& words, const emu::Wave& wave) {
  const auto count = numbers(words);
  if (!count) return Next::Ask;
  if (count->size() > 1 || (count->size() == 1 && count->front() == 0)) {
    mistake("step takes one number of instructions, or none.");
    return Next::Ask;
  }
  stepping_wave_ = number_of(wave);
  steps_left_ = count->empty() ? 0 : count->front() - 1;
  return Next::Run;
}

void Debugger::set_breakpoint(const std::vector<std::string>& words, bool on) {
  const auto offsets = numbers(words);
  if (!offsets) return;
  if (offsets->size() != 1) {
    return mistake(fmt::format("{} takes the offset of an instruction.", words[0]));
  }
  if (on) {
    breakpoints_.insert(offsets->front());
  } else if (breakpoints_.erase(offsets->front()) == 0) {
    mistake(fmt::format("There is no breakpoint at +{:#x}.", offsets->front()));
  }
}

void Debugger::choose_wave(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[1] == "all") {
    only_wave_.reset();
    return;
  }
  const auto number = numbers(words);
  if (!number) return;
  if (number->size() != 1) return mistake("wave takes a number, or all.");
  only_wave_ = static_cast<uint32_t>(number->front());
}

void Debugger::show_sgprs(const std::vector<std::string>& words, const emu::Wave& wave) {
  const auto range = numbers(words);
  if (!range) return;
  const uint64_t first = range->empty() ? 0 : range->front();
  const uint64_t last = range->empty() ? 15 : range->back();
  if (range->size() > 2 || last < first || last >= isa::kSgprEnd) {
    return mistake(fmt::format("sgprs takes registers from 0 to {}.", isa::kSgprEnd - 1));
  }
  for (uint64_t at = first; at <= last; at += kRow) {
    const uint64_t count = std::min<uint64_t>(kRow, last - at + 1);
    output_ << row_of(
        count == 1 ? fmt::format("s{}", at) : fmt::format("s[{}:{}]", at, at + count - 1),
        std::span(wave.s).subspan(at, count));
  }
}

void Debugger::show_vgprs(const std::vector<std::string>& words, const emu::Wave& wave) {
  const auto range = numbers(words);
  if (!range) return;
  if (range->empty() || range->size() > 2 || range->back() < range->front() ||
      range->back() >= wave.vgpr_limit) {
    return mistake(fmt::format("vgprs takes registers from 0 to {}.", wave.vgpr_limit - 1));
  }
  for (uint64_t index = range->front(); index <= range->back(); ++index) {
    for (uint32_t lane = 0; lane < wave.lanes; lane += kRow) {
      const emu::LaneRegister& half = wave.vgprs[lane / emu::kHalfLanes * emu::kVgprSlots + index];
      output_ << row_of(fmt::format("v{}.{}", index, lane),
                        std::span(half.lane).subspan(lane % emu::kHalfLanes, kRow));
    }
  }
}

void Debugger::show_state(const emu::Wave& wave) {
  const int digits = wave.wave64() ? 16 : 8;
  output_ << fmt::format("  exec {:0{}x}, vcc {:0{}x}, scc {}, m0 {:08x}, mode {:#x}\n",
                         wave.mask(isa::kExecLo), digits, wave.mask(isa::kVccLo), digits, wave.scc,
                         wave.s[isa::kM0], wave.mode.bits());
}

void Debugger::show_memory(const std::vector<std::string>& words, const emu::Wave& wave) {
  if (words.size() < 2 || words.size() > 3) {
    return mistake("memory takes an address, and perhaps a number of dwords.");
  }
  const auto va = names_.parse(words[1]);
  if (!va) return mistake(va.error().message());
  uint64_t count = kRow;
  if (words.size() == 3) {
    const auto wanted = parse_integer(words[2]);
    if (!wanted || *wanted == 0 || *wanted > kMaxDwords) {
      return mistake(fmt::format("memory shows 1 to {} dwords.", kMaxDwords));
    }
    count = *wanted;
  }
  std::vector<uint32_t> dwords(count);
  if (!wave.context->vm->read(*va, std::as_writable_bytes(std::span(dwords)))) {
    return mistake(fmt::format("This memory is not mapped ({}).", words[1]));
  }
  for (uint64_t at = 0; at < count; at += kRow) {
    output_ << row_of(names_.name_of(*va + at * 4),
                      std::span(dwords).subspan(at, std::min<uint64_t>(kRow, count - at)));
  }
}

void Debugger::add_watch(const std::vector<std::string>& words) {
  if (words.size() != 2) return mistake("watch takes an address.");
  const auto va = names_.parse(words[1]);
  if (!va) return mistake(va.error().message());
  watches_.add(*va, words[1]);
}

void Debugger::mistake(std::string_view what) {
  ++mistakes_;
  output_ << fmt::format("  {}\n", what);
}

}  // namespace doppel::exec
