#include "tools/streams/trace_streams.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "backends/capture/queue_layout.h"
#include "backends/capture/record.h"
#include "backends/capture/trace_format.h"
#include "backends/capture/trace_reader.h"
#include "core/packets/packet.h"
#include "core/target.h"
#include "tools/streams/stream_walk.h"

namespace doppel::streams {
namespace {

/// What the trace has said of the GPUs' memory so far, by page.
class MemoryImage {
 public:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kMaxPages = size_t{4} << 30 >> 12;  // a small file may unpack to anything

  Result<> write(uint64_t va, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const uint64_t offset = va % kPageBytes;
      const size_t part = std::min<size_t>(kPageBytes - offset, bytes.size());
      if (pages_.size() == kMaxPages) {
        return error(StatusCode::OutOfRange, "The trace holds more than 4 GiB of memory.");
      }
      std::memcpy(pages_[va - offset].data() + offset, bytes.data(), part);
      bytes = bytes.subspan(part);
      va += part;
    }
    return {};
  }
  /// From `va` on, as far as it is known.
  std::vector<uint32_t> read(uint64_t va, size_t dwords) const {
    std::vector<uint32_t> known;
    if (va % sizeof(uint32_t) != 0) return known;
    for (; known.size() < dwords; va += sizeof(uint32_t)) {
      const auto page = pages_.find(va - va % kPageBytes);
      if (page == pages_.end()) break;
      std::memcpy(&known.emplace_back(), page->second.data() + va % kPageBytes, sizeof(uint32_t));
    }
    return known;
  }

 private:
  std::map<uint64_t, std::array<std::byte, kPageBytes>> pages_;
};

struct TracedQueue {
  packets::Language language = packets::Language::Pm4;
  std::optional<GfxFamily> family;
  uint64_t ring = 0;
  uint64_t ring_bytes = 0;
  uint64_t write_pointer = 0;
  uint64_t submissions = 0;
};

template <class Args>
Args argument_of(std::span<const std::byte> bytes) {
  Args args{};
  std::ranges::copy(bytes.first(std::min(bytes.size(), sizeof args)),
                    std::as_writable_bytes(std::span(&args, 1)).begin());
  return args;
}

class TraceStreams {
 public:
  Result<> operator()(const capture::StartRecord& start) {
    for (const auto& gpu : start.gpus) {
      if (const auto target = find_target(gpu.target)) families_[gpu.gpu_id] = (*target)->family;
    }
    return {};
  }
  Result<> operator()(const capture::IoctlRecord& call) {
    if (call.result < 0 || call.request != AMDKFD_IOC_CREATE_QUEUE) return {};
    const auto args = argument_of<kfd_ioctl_create_queue_args>(call.out);
    if (!std::has_single_bit(args.ring_size)) {
      return error(StatusCode::Malformed,
                   fmt::format("The trace has a ring of {} bytes.", args.ring_size));
    }
    TracedQueue queue{.language = capture::language_of(args.queue_type),
                      .family = {},
                      .ring = args.ring_base_address,
                      .ring_bytes = args.ring_size};
    if (const auto family = families_.find(args.gpu_id); family != families_.end()) {
      queue.family = family->second;
    }
    queues_[args.queue_id] = queue;
    return {};
  }
  Result<> operator()(const capture::MemoryRecord& memory) {
    return image_.write(memory.va, memory.bytes);
  }
  Result<> operator()(const capture::ResultRecord& memory) {
    return image_.write(memory.va, memory.bytes);
  }
  Result<> operator()(const capture::SubmitRecord& submit) {
    const auto found = queues_.find(submit.queue);
    if (found == queues_.end()) {
      return error(
          StatusCode::Malformed,
          fmt::format("The trace submits to a queue that it has not made ({}).", submit.queue));
    }
    TracedQueue& queue = found->second;
    Segment segment{
        .label = fmt::format("queue {}, submission {}", submit.queue, ++queue.submissions),
        .language = queue.language,
        .family = queue.family,
        .dwords = ring_dwords(queue, submit.write_pointer)};
    queue.write_pointer = submit.write_pointer;
    DOPPEL_TRY(spend(segment.dwords.size()));
    DOPPEL_TRY(gather(segment, segment.language, segment.dwords, 0));
    if (!segment.dwords.empty()) segments_.push_back(std::move(segment));
    return {};
  }
  template <class Other>
  Result<> operator()(const Other&) {
    return {};
  }

  std::vector<Segment> finish() { return std::move(segments_); }

 private:
  static constexpr int kMaxDepth = 4;                        // of indirect buffers
  static constexpr uint64_t kMaxDwords = uint64_t{1} << 28;  // of all segments

  /// A small file may submit the same large buffer again and again.
  Result<> spend(uint64_t dwords) {
    spent_ += dwords;
    if (spent_ <= kMaxDwords) return {};
    return error(StatusCode::OutOfRange, "The trace's submissions are longer than 1 GiB together.");
  }

  std::vector<uint32_t> ring_dwords(const TracedQueue& queue, uint64_t write_pointer) const {
    const uint64_t unit = capture::bytes_per_unit(queue.language);
    const uint64_t begin = queue.write_pointer * unit % queue.ring_bytes;
    // What is longer than the ring has overwritten itself.
    const uint64_t bytes = std::min((write_pointer - queue.write_pointer) * unit, queue.ring_bytes);
    const uint64_t until_wrap = std::min(bytes, queue.ring_bytes - begin);
    std::vector<uint32_t> dwords = image_.read(queue.ring + begin, until_wrap / 4);
    const auto wrapped = image_.read(queue.ring, (bytes - until_wrap) / 4);
    dwords.insert(dwords.end(), wrapped.begin(), wrapped.end());
    return dwords;
  }

  /// Keeps what the packets refer to, as it is now.
  Result<> gather(Segment& segment, packets::Language language, std::span<const uint32_t> stream,
                  int depth) {
    packets::PacketCursor cursor(language, stream, segment.family.value_or(GfxFamily::Gfx11));
    while (!cursor.done()) {
      const packets::Packet packet = cursor.packet();
      const auto reference = reference_of(packet);
      if (reference && segment.memory.at(reference->address, 1).empty()) {
        const auto dwords = image_.read(reference->address, reference->dwords);
        DOPPEL_TRY(spend(dwords.size()));
        if (!dwords.empty()) segment.memory.add(reference->address, dwords);
        if (reference->language && depth < kMaxDepth) {
          DOPPEL_TRY(gather(segment, *reference->language, dwords, depth + 1));
        }
      }
      if (packet.ok()) {
        cursor.advance();
      } else {
        cursor.resync();
      }
    }
    return {};
  }

  MemoryImage image_;
  std::map<uint32_t, GfxFamily> families_;  // by the driver's gpu_id
  std::map<uint32_t, TracedQueue> queues_;  // by the driver's queue_id
  std::vector<Segment> segments_;
  uint64_t spent_ = 0;  // dwords
};

}  // namespace

bool is_trace(std::span<const std::byte> bytes) {
  uint64_t magic = 0;
  if (bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == capture::kTraceMagic;
}

Result<std::vector<Segment>> parse_trace(std::span<const std::byte> bytes) {
  std::istringstream file(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  DOPPEL_ASSIGN(capture::TraceReader reader, capture::TraceReader::open(file));
  TraceStreams streams;
  while (true) {
    DOPPEL_ASSIGN(const auto bytes_of_record, reader.next());
    if (!bytes_of_record) break;
    DOPPEL_ASSIGN(const capture::Record record, capture::decode(*bytes_of_record));
    DOPPEL_TRY(std::visit(streams, record));
  }
  std::vector<Segment> segments = streams.finish();
  if (segments.empty()) return error(StatusCode::Malformed, "The trace has no submissions.");
  return segments;
}

}  // namespace doppel::streams
