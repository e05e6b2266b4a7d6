#include "emulator/isa/code_cache.h"

#include <algorithm>
#include <cstring>

#include "emulator/isa/fault_insts.h"
#include "emulator/isa/lower.h"

namespace doppel::isa {
namespace {

constexpr size_t kRunLimit = 4096;     // instructions of one straight line
constexpr size_t kEagerLimit = 65536;  // instructions decoded ahead of execution
constexpr uint32_t kMaxVersions = 1024;

}  // namespace

CodeCache::CodeCache(const CodeOptions& options, const emu::GpuVm& vm, Level level)
    : options_(options), vm_(&vm), handlers_(handler_table(level)) {}

const Inst* CodeCache::lookup(uint64_t pc) const {
  const auto found = by_pc_.find(pc);
  return found == by_pc_.end() ? nullptr : found->second;
}

const Inst* CodeCache::at(uint64_t pc) {
  const std::lock_guard lock(mutex_);
  if (const Inst* known = lookup(pc)) return known;
  const size_t first_new = runs_.size();
  std::vector<uint64_t> pending{pc};
  while (!pending.empty()) {
    const uint64_t next = pending.back();
    pending.pop_back();
    if (lookup(next) == nullptr && (next == pc || decoded_ < kEagerLimit)) {
      decode_run(next, pending);
    }
  }
  for (size_t i = first_new; i < runs_.size(); ++i) resolve_targets(runs_[i]);
  return lookup(pc);
}

size_t CodeCache::fetch(uint64_t pc, std::span<uint32_t> words) const {
  size_t count = 0;
  for (; count < words.size(); ++count) {
    const auto host = vm_->translate(pc + count * 4, 4, emu::Access::Execute);
    if (!host) break;
    std::memcpy(&words[count], *host, 4);
  }
  return count;
}

void CodeCache::decode_run(uint64_t pc, std::vector<uint64_t>& pending) {
  std::vector<Inst> insts;
  Run run;
  run.begin = pc;
  Flow flow = Flow::Next;
  while (flow != Flow::Stop && flow != Flow::Jump) {
    Inst inst;
    if (insts.size() == kRunLimit || (!insts.empty() && lookup(pc) != nullptr)) {
      lower_link(pc, inst);
      insts.push_back(inst);
      break;
    }
    std::array<uint32_t, kMaxInstructionWords> words{};
    const size_t available = fetch(pc, words);
    const auto decoded = decode(options_.target->family, std::span(words).first(available));
    if (!decoded) {
      available == 0 ? lower_unfetchable(pc, inst) : lower_illegal(pc, words[0], inst);
      flow = Flow::Stop;
      run.cut = available < words.size();
    } else {
      flow = lower(*decoded, pc, *this, inst);
      if (flow == Flow::Branch || flow == Flow::Jump) {
        pending.push_back(inst.next_pc() +
                          static_cast<uint64_t>(int64_t{static_cast<int32_t>(inst.literal)} * 4));
      }
    }
    // Of a word that is no instruction, what made it so counts too.
    const size_t relevant = decoded ? inst.dwords : available;
    run.words.insert(run.words.end(), words.begin(),
                     words.begin() + std::min<size_t>(available, relevant));
    pc = inst.next_pc();
    insts.push_back(inst);
  }
  run.count = insts.size();
  run.insts = std::make_unique<Inst[]>(run.count);
  std::copy(insts.begin(), insts.end(), run.insts.get());
  for (size_t i = 0; i < run.count; ++i) {
    if (!is_link(run.insts[i])) by_pc_.emplace(run.insts[i].pc, &run.insts[i]);
  }
  decoded_ += run.count;
  runs_.push_back(std::move(run));
}

/// Direct branches and links get their targets once every run of the batch is in place.
void CodeCache::resolve_targets(Run& run) {
  for (size_t i = 0; i < run.count; ++i) {
    Inst& inst = run.insts[i];
    if (is_link(inst)) {
      inst.target = lookup(inst.pc);
    } else if (inst.is_branch) {
      inst.target = lookup(inst.next_pc() +
                           static_cast<uint64_t>(int64_t{static_cast<int32_t>(inst.literal)} * 4));
    }
  }
}

bool CodeCache::holds(const Run& run) const {
  const size_t bytes = run.words.size() * 4;
  if (bytes != 0) {
    const auto host = vm_->translate(run.begin, bytes, emu::Access::Execute);
    if (host) {
      if (std::memcmp(*host, run.words.data(), bytes) != 0) return false;
    } else {  // perhaps over several mappings
      std::vector<uint32_t> words(run.words.size());
      if (fetch(run.begin, words) != words.size() || words != run.words) return false;
    }
  }
  return !run.cut || !vm_->translate(run.begin + bytes, 4, emu::Access::Execute);
}

bool CodeCache::is_current() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(runs_, [this](const Run& run) { return !run.retired && holds(run); });
}

bool CodeCache::refresh() {
  const std::lock_guard lock(mutex_);
  if (std::ranges::all_of(runs_, [this](const Run& run) { return run.retired || holds(run); })) {
    return true;
  }
  if (version() == kMaxVersions) return false;
  // All of them: runs lead into each other.
  for (Run& run : runs_) run.retired = true;
  by_pc_.clear();
  decoded_ = 0;
  version_.fetch_add(1, std::memory_order_release);
  return true;
}

std::span<const uint32_t> CodeCache::words_of(const Inst& inst) const {
  const std::lock_guard lock(mutex_);
  const auto has = [&](const Run& run) {
    return &inst >= run.insts.get() && &inst < run.insts.get() + run.count;
  };
  const bool of_a_run = std::ranges::any_of(runs_, has);  // else the operation of a pair
  for (const Run& run : runs_) {
    if (of_a_run && !has(run)) continue;
    const uint64_t offset = (inst.pc - run.begin) / 4;
    if (inst.pc >= run.begin && offset < run.words.size()) {
      return std::span(run.words).subspan(offset,
                                          std::min<size_t>(inst.dwords, run.words.size() - offset));
    }
  }
  return {};
}

const uint32_t* CodeCache::constant(uint64_t bits, uint32_t registers) {
  std::unique_ptr<Constant>& entry = constants_[{bits, registers}];
  if (!entry) {
    entry = std::make_unique<Constant>();
    for (size_t i = 0; i < 32; ++i) {
      entry->lane[i] = static_cast<uint32_t>(bits);
      entry->lane[i + 32] = static_cast<uint32_t>(bits >> 32);
    }
  }
  return entry->lane.data();
}

const uint64_t* CodeCache::scalar_constant(uint64_t bits) {
  return &scalar_constants_.emplace(bits, bits).first->second;
}

InstExtra& CodeCache::new_extra() {
  return extras_.emplace_back();
}

Inst& CodeCache::new_pair() {
  return pairs_.emplace_back();
}

}  // namespace doppel::isa
