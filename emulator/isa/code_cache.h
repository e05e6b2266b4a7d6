// CodeCache: the decoded form of the code one kernel may reach, for one target, wave size and
// register allocation. Decodes from the entry along direct branches; targets of indirect jumps are
// added when first reached.
//
// Code may be rewritten: a dispatch decodes anew what is_current() denies, and a wave that executes
// S_ICACHE_INV calls refresh(). What was decoded before stays for the waves that still run it.
//
// Owned by a Dispatcher. at(), refresh() and the lookups are thread-safe; Insts are immutable once
// published and live as long as the cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/target.h"
#include "emulator/isa/handlers.h"
#include "emulator/isa/inst.h"
#include "emulator/isa/instruction.h"
#include "emulator/memory/gpu_vm.h"

namespace doppel::isa {

/// TLB entries a thread keeps; access sites share them when a program has more.
inline constexpr uint32_t kTlbEntries = 256;

struct CodeOptions {
  const Target* target = nullptr;
  bool wave64 = false;
  uint32_t vgprs = 256;  // allocated: a register beyond is a fault where it is used
  bool operator==(const CodeOptions&) const = default;
};

class CodeCache {
 public:
  CodeCache(const CodeOptions& options, const emu::GpuVm& vm, Level level = best_level());
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;

  /// The instruction at `pc`. Never nullptr: what cannot be fetched or decoded is an Inst that
  /// faults when executed.
  const Inst* at(uint64_t pc);

  /// True if memory still holds the words that were decoded, and nothing behind them where nothing
  /// was.
  bool is_current() const;

  /// Forgets what is not current any more, as S_ICACHE_INV demands. False if code was rewritten
  /// more often than the cache keeps versions of.
  bool refresh();
  /// Counts the refreshes that found rewritten code: a wave whose next Inst is older looks it up
  /// again.
  uint32_t version() const { return version_.load(std::memory_order_acquire); }

  /// The dwords of the instruction at `inst`, as decoded.
  std::span<const uint32_t> words_of(const Inst& inst) const;
  const CodeOptions& options() const { return options_; }

  // For lower.cpp.
  const HandlerTable& handlers() const { return handlers_; }
  /// `bits` broadcast to 32 lanes, `registers` registers of them.
  const uint32_t* constant(uint64_t bits, uint32_t registers);
  /// The 64 bits of a scalar constant.
  const uint64_t* scalar_constant(uint64_t bits);
  InstExtra& new_extra();
  Inst& new_pair();
  uint32_t new_site() { return next_site_++ % kTlbEntries; }

 private:
  struct Run {
    uint64_t begin = 0;
    std::vector<uint32_t> words;
    std::unique_ptr<Inst[]> insts;
    size_t count = 0;
    bool cut = false;      // what follows the words could not be fetched
    bool retired = false;  // rewritten since
  };
  struct alignas(64) Constant {
    std::array<uint32_t, 64> lane;
  };

  void decode_run(uint64_t pc, std::vector<uint64_t>& pending);
  bool holds(const Run& run) const;
  size_t fetch(uint64_t pc, std::span<uint32_t> words) const;
  void resolve_targets(Run& run);
  const Inst* lookup(uint64_t pc) const;

  CodeOptions options_;
  const emu::GpuVm* vm_;
  const HandlerTable& handlers_;
  mutable std::mutex mutex_;
  std::deque<Run> runs_;
  std::unordered_map<uint64_t, const Inst*> by_pc_;
  std::map<std::pair<uint64_t, uint32_t>, std::unique_ptr<Constant>> constants_;
  std::map<uint64_t, uint64_t> scalar_constants_;
  std::deque<InstExtra> extras_;
  std::deque<Inst> pairs_;
  uint32_t next_site_ = 0;
  size_t decoded_ = 0;
  std::atomic<uint32_t> version_{0};
};

}  // namespace doppel::isa
