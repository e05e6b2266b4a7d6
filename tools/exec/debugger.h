// Debugger: stops waves before instructions and answers commands from a stream: a script or a
// terminal. Reads only; the run is the same with and without it.
//
//   step [N]             the next N instructions of the wave that stopped (1)
//   continue             to the next breakpoint
//   break PC, delete PC  PC: bytes from the kernel's first instruction
//   wave N, wave all     stop in this wave of the dispatch only
//   sgprs [FIRST [LAST]], vgprs FIRST [LAST], state
//   memory ADDR [DWORDS] ADDR: arg0, arg0+0x40, 0x...
//   watch ADDR           report who wrote the byte last, at the end
//   detach               no more stops
//
// The end of the input detaches. Each command is echoed behind "> ", so that a transcript reads.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/wave/probe.h"
#include "emulator/wave/wave.h"
#include "tools/exec/buffer_names.h"
#include "tools/exec/watch_list.h"

namespace doppel::exec {

class Debugger final : public emu::WaveProbe {
 public:
  struct Options {
    bool stop_at_start = false;
    std::vector<uint64_t> breakpoints;  // bytes from the kernel's first instruction
  };

  /// All outlive the debugger.
  Debugger(std::istream& commands, std::ostream& output, const BufferNames& names,
           WatchList& watches)
      : commands_(commands), output_(output), names_(names), watches_(watches) {}

  /// Before the launch.
  void prepare(const Options& options);
  bool active() const { return !breakpoints_.empty() || steps_left_; }

  void before(const emu::Wave& wave, const isa::Inst& inst) override;

  /// Commands that made no sense.
  uint32_t mistakes() const { return mistakes_; }

 private:
  enum class Next : uint8_t { Ask, Run };

  bool stops_at(const emu::Wave& wave, uint64_t offset);
  void show_place(const emu::Wave& wave, const isa::Inst& inst);
  void converse(const emu::Wave& wave, const isa::Inst& inst);
  Next obey(const std::vector<std::string>& words, const emu::Wave& wave, const isa::Inst& inst);
  Next step(const std::vector<std::string>& words, const emu::Wave& wave);
  void set_breakpoint(const std::vector<std::string>& words, bool on);
  void choose_wave(const std::vector<std::string>& words);
  void show_sgprs(const std::vector<std::string>& words, const emu::Wave& wave);
  void show_vgprs(const std::vector<std::string>& words, const emu::Wave& wave);
  void show_state(const emu::Wave& wave);
  void show_memory(const std::vector<std::string>& words, const emu::Wave& wave);
  void add_watch(const std::vector<std::string>& words);
  void mistake(std::string_view what);
  /// The numbers behind the command, or nullopt after a complaint.
  std::optional<std::vector<uint64_t>> numbers(const std::vector<std::string>& words);

  std::istream& commands_;
  std::ostream& output_;
  const BufferNames& names_;
  WatchList& watches_;
  std::set<uint64_t> breakpoints_;
  std::optional<uint32_t> only_wave_;
  std::optional<uint32_t> stepping_wave_;  // whose steps are counted; nullopt: any wave's
  std::optional<uint64_t> steps_left_;     // instructions before the next stop
  uint32_t mistakes_ = 0;
};

/// The wave's number in its dispatch.
uint32_t number_of(const emu::Wave& wave);

}  // namespace doppel::exec
