// Packets as text: symbolic fields beside the raw dwords, one dword a line.
//
//   RELEASE_MEM
//     c0064900
//     0070f514  event_type=CACHE_FLUSH_AND_INV_TS_EVENT event_index=END_OF_PIPE gcr_glm_wb ...
//     22000000  dst_sel=MEMORY_CONTROLLER int_sel=SEND_INTERRUPT_AFTER_WRITE_CONFIRM ...
//     71bfff48  address=0x7fe571bfff48
//     00007fe5
//
// Flags are named when set; a number that is 0 and shares its dword with others is left out.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/packets/packet.h"

namespace doppel::packets {

/// One field of one packet, as the dumper, JSON and the differ show it.
struct FieldText {
  const Field* field = nullptr;
  uint32_t dword = 0;  // in the packet
  uint64_t value = 0;
  std::string text;  // the value alone: "END_OF_PIPE", "0x7fe5", "COMPUTE_PGM_LO", "1"
};

struct DumpOptions {
  /// Names a GPU address ("buf0+0x40"); returns "" to print it in hexadecimal. The dwords of a
  /// named address print as @lo and @hi, so that the text does not depend on where things were
  /// allocated.
  std::function<std::string(uint64_t address)> address_name;
  /// Addresses among the payload; dwords count from the start of the stream.
  std::span<const AddressMark> marks;
  bool raw = true;          // the dwords themselves
  size_t max_payload = 64;  // dwords shown of a long payload
};

/// The fields that the packet has, in the order of its row. Empty for a packet without a row.
std::vector<FieldText> describe_fields(const Packet& packet, const DumpOptions& options = {});

/// "COMPUTE_NUM_THREAD_X num_thread_full=16" for a value written to a register; the absolute dword
/// address in hexadecimal if no table has it.
std::string describe_register(uint32_t address, uint32_t value, GfxFamily family);

/// "0001a: ", as a packet in a stream is headed: five hexadecimal digits or more.
void append_offset(std::string& out, uint32_t offset);

/// Dumps packet after packet into a string, reusing its buffers. Streams repeat themselves: what a
/// packet has been written as is kept (after a number of packets) and copied when the same dwords
/// come again, unless addresses are named. Not thread-safe.
class Dumper {
 public:
  explicit Dumper(DumpOptions options) : options_(std::move(options)) {}

  /// The packet's name and its lines, each ended by a newline; a malformed one ends with why.
  void append(std::string& out, const Packet& packet, uint32_t offset = 0);
  /// The same without the name and without why.
  void append_dwords(std::string& out, const Packet& packet, uint32_t offset = 0);

 private:
  /// What is written instead of a dword ("" for the dword itself), and beside it.
  struct Line {
    std::string raw;
    std::string text;
  };

  /// A packet that has been written, and how.
  struct Written {
    const PacketRow* row = nullptr;
    GfxFamily family = GfxFamily::Gfx11;
    std::vector<uint32_t> dwords;
    std::string text;

    bool is_of(const Packet& packet) const;
  };

  /// Where the packet's text is kept; nullptr if it is not.
  Written* place_of(const Packet& packet);
  void write_dwords(std::string& out, const Packet& packet, uint32_t offset);
  void describe_fields_of(const Packet& packet);
  void describe_payload_of(const Packet& packet, size_t fixed, size_t shown);
  void hide_named_addresses(const Packet& packet, uint32_t offset, size_t shown);
  void append_line(std::string& out, uint32_t dword, const Line& line) const;

  DumpOptions options_;
  std::vector<Line> lines_;       // at least as many as the packet's shown dwords
  std::vector<Written> written_;  // by hash
  size_t packets_ = 0;            // so far
};

/// One packet, as Dumper::append writes it.
std::string dump(const Packet& packet, const DumpOptions& options = {});

/// A whole stream, each packet headed by its offset in dwords; resumes behind damage.
std::string dump_stream(Language language, std::span<const uint32_t> stream, GfxFamily family,
                        const DumpOptions& options = {});

}  // namespace doppel::packets
