#include "backends/capture/record.h"

#include <msgpack.hpp>

#include <exception>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "backends/capture/trace_format.h"

namespace doppel::capture {
namespace {

// A record is an array: what it is, then its fields in order.
constexpr std::string_view kStart = "start", kOpen = "open", kClose = "close", kIoctl = "ioctl",
                           kMemory = "memory", kSubmit = "submit", kResult = "result";

constexpr uint32_t kMaxDepth = 8;
constexpr uint32_t kMaxElements = 1 << 16;

using Bytes = std::vector<std::byte>;
using GpuFields = std::tuple<uint32_t, uint32_t, std::string>;

template <class... Fields>
std::vector<std::byte> pack(std::string_view kind, const Fields&... fields) {
  msgpack::sbuffer buffer;
  msgpack::packer<msgpack::sbuffer> packer(buffer);
  packer.pack_array(1 + sizeof...(Fields));
  packer.pack(std::string(kind));
  (packer.pack(fields), ...);
  const auto* data = reinterpret_cast<const std::byte*>(buffer.data());
  return {data, data + buffer.size()};
}

struct Encode {
  Bytes operator()(const StartRecord& record) const {
    std::vector<GpuFields> gpus;
    for (const StartRecord::Gpu& gpu : record.gpus) {
      gpus.emplace_back(gpu.gpu_id, gpu.render_minor, gpu.target);
    }
    return pack(kStart, record.machine, gpus);
  }
  Bytes operator()(const OpenRecord& record) const { return pack(kOpen, record.path, record.fd); }
  Bytes operator()(const CloseRecord& record) const { return pack(kClose, record.fd); }
  Bytes operator()(const IoctlRecord& record) const {
    return pack(kIoctl, record.fd, record.request, record.result, record.in, record.out,
                record.gpus);
  }
  Bytes operator()(const MemoryRecord& record) const {
    return pack(kMemory, record.va, record.bytes);
  }
  Bytes operator()(const SubmitRecord& record) const {
    return pack(kSubmit, record.queue, record.write_pointer);
  }
  Bytes operator()(const ResultRecord& record) const {
    return pack(kResult, record.va, record.bytes);
  }
};

/// Field `index` behind the kind. Throws msgpack::type_error if there is another kind of value.
template <class T>
T field(const msgpack::object_array& array, uint32_t index) {
  if (index + 1 >= array.size) throw msgpack::type_error();
  return array.ptr[index + 1].as<T>();
}

std::unexpected<Status> malformed(std::string_view what) {
  return error(StatusCode::Malformed,
               fmt::format("A record of the trace does not parse ({}).", what));
}

Result<Record> from_array(const msgpack::object_array& array) {
  if (array.size == 0) return malformed("it is empty");
  const auto kind = array.ptr[0].as<std::string>();
  if (kind == kStart) {
    StartRecord record{field<std::string>(array, 0), {}};
    for (const auto& [id, minor, target] : field<std::vector<GpuFields>>(array, 1)) {
      record.gpus.push_back({id, minor, target});
    }
    return record;
  }
  if (kind == kOpen) return OpenRecord{field<std::string>(array, 0), field<int>(array, 1)};
  if (kind == kClose) return CloseRecord{field<int>(array, 0)};
  if (kind == kIoctl) {
    return IoctlRecord{field<int>(array, 0),   field<uint32_t>(array, 1),
                       field<int>(array, 2),   field<Bytes>(array, 3),
                       field<Bytes>(array, 4), field<std::vector<uint32_t>>(array, 5)};
  }
  if (kind == kMemory) return MemoryRecord{field<uint64_t>(array, 0), field<Bytes>(array, 1)};
  if (kind == kSubmit) return SubmitRecord{field<uint32_t>(array, 0), field<uint64_t>(array, 1)};
  if (kind == kResult) return ResultRecord{field<uint64_t>(array, 0), field<Bytes>(array, 1)};
  return malformed(fmt::format("there is no kind {:.20}", kind));
}

}  // namespace

std::vector<std::byte> encode(const Record& record) {
  return std::visit(Encode{}, record);
}

Result<Record> decode(std::span<const std::byte> bytes) {
  const msgpack::unpack_limit limits(kMaxElements, kMaxElements, kMaxRecordBytes, kMaxRecordBytes,
                                     kMaxRecordBytes, kMaxDepth);
  try {
    const msgpack::object_handle handle = msgpack::unpack(
        reinterpret_cast<const char*>(bytes.data()), bytes.size(), nullptr, nullptr, limits);
    const msgpack::object& object = handle.get();
    if (object.type != msgpack::type::ARRAY) return malformed("it is no array");
    return from_array(object.via.array);
  } catch (const std::exception& failure) {
    return malformed(failure.what());
  }
}

}  // namespace doppel::capture
