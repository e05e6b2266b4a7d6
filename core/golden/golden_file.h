// Golden streams: packets as text in files under version control, so that a review shows every
// dword that a change moves. A file is a list of blocks, one a stream:
//
//   == download gpu0 sdma (SDMA, gfx11)
//   00000: POLL_REGMEM
//     f0000008  func=GREATER_THAN_OR_EQUAL_REFERENCE_VALUE mem_poll=1
//     @lo       address=done+0x8
//     @hi
//
// Addresses print by name, so that the text is the same wherever things lie in memory: by the
// caller's names, and "unnamed1", "unnamed2", ... in the order of appearance for all others.
// `doppel decode` and `doppel diff` read such files.
//
// A run with DOPPEL_UPDATE_GOLDEN=1 in its environment rewrites instead of comparing. Writers of
// one file must not run at the same time. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/command_stream.h"
#include "core/commands.h"
#include "core/graph.h"
#include "core/memory.h"
#include "core/program.h"
#include "core/signal.h"
#include "core/status.h"

namespace doppel::golden {

/// A range of GPU memory by name.
struct NamedRange {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;

  NamedRange(std::string name, uint64_t address, uint64_t bytes);
  NamedRange(std::string name, const MemoryView& memory);
  NamedRange(std::string name, const Allocation& memory);
  NamedRange(std::string name, const Signal& signal);
  NamedRange(std::string name, const Program& program);
};

/// One stream as text.
struct Block {
  std::string name;
  std::string head;  // "(PM4, gfx11)"
  std::string text;
};

/// Turns streams into blocks. Addresses that nobody has named keep their "unnamed" number across
/// the streams of one writer.
class BlockWriter {
 public:
  explicit BlockWriter(std::vector<NamedRange> names) : names_(std::move(names)) {}

  Block block(std::string name, const CommandStream& commands);

  // What a test may pin; the error of its recording, if it has one. A graph gives a block a queue:
  // "<name> gpu0 pm4", GPUs numbered in the order of the graph's queues.
  Result<std::vector<Block>> blocks(const std::string& name, const CommandStream& commands);
  Result<std::vector<Block>> blocks(const std::string& name, const Commands& commands);
  Result<std::vector<Block>> blocks(const std::string& name, const GraphExec& graph);

 private:
  std::string name_of(uint64_t address);

  std::vector<NamedRange> names_;
  std::map<uint64_t, size_t> unnamed_;  // by address
};

/// Whether this run rewrites golden files.
bool updating();

class GoldenFile {
 public:
  /// Reads the file; one that does not exist has no blocks.
  explicit GoldenFile(std::filesystem::path path);

  /// Compares with the block of that name. NotFound if the file has none; Malformed, showing the
  /// lines that differ, if it has another. A run that updates takes the block over instead.
  Result<> check(const Block& block);

  /// Blocks that no check() has asked for: of tests that are gone.
  std::vector<std::string> unchecked() const;

  /// Writes what an updating run has taken over; else does nothing. With `drop_unchecked`, only
  /// the checked blocks stay. System if the file can't be written.
  Result<> save(bool drop_unchecked);

 private:
  std::filesystem::path path_;
  std::vector<Block> blocks_;
  std::set<std::string, std::less<>> checked_;
  bool changed_ = false;
};

}  // namespace doppel::golden
