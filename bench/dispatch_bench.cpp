// Empty kernels per second through the front-ends: what a dispatch costs beside its instructions.
#include <benchmark/benchmark.h>

#include "bench/emulated_queue.h"
#include "core/abi/kernel_descriptor.h"
#include "core/packets/aql.h"
#include "core/packets/pm4.h"
#include "core/packets/registers.h"

namespace doppel::emu::bench {
namespace {

constexpr uint32_t kEndpgm = 0xbfb00000;
constexpr uint64_t kBatch = 16;  // dispatches per doorbell

auto set(const regs::RegisterRow& row, std::span<const uint32_t> values) {
  return pm4::SetShReg(kFamily).reg_offset(regs::sh_offset(row, kFamily)).payload(values);
}

auto release(uint64_t va, uint32_t value) {
  return pm4::ReleaseMem(kFamily)
      .event_type(pm4::EventType::CACHE_FLUSH_AND_INV_TS_EVENT)
      .event_index(pm4::ReleaseIndex::END_OF_PIPE)
      .data_sel(pm4::DataSel::SEND_32_BIT_LOW)
      .address(va)
      .data(value);
}

/// The packets that a client sends for each kernel: wait, acquire, registers, dispatch, flush,
/// signal.
std::vector<uint32_t> client_stream(uint64_t code, uint64_t signal) {
  const uint32_t pgm[] = {static_cast<uint32_t>(code >> 8), static_cast<uint32_t>(code >> 40)};
  const uint32_t two[] = {0, 4}, one[] = {0}, three[] = {0, 0, 0};
  const uint32_t geometry[] = {0, 0, 0, 32, 1, 1, 0, 0};
  std::vector<uint32_t> stream;
  append(stream,
         pm4::WaitRegMem(kFamily)
             .mem_space(pm4::MemSpace::MEMORY_SPACE)
             .function(pm4::Function::LESS_THAN_EQUAL_TO_THE_REF_VALUE)
             .address(signal)
             .reference(~0u)
             .mask(~0u),
         pm4::AcquireMem(kFamily), set(regs::COMPUTE_PGM_LO, pgm),
         set(regs::COMPUTE_PGM_RSRC1, two), set(regs::COMPUTE_PGM_RSRC3, one),
         set(regs::COMPUTE_TMPRING_SIZE, one), set(regs::COMPUTE_RESTART_X, three),
         set(regs::COMPUTE_USER_DATA_0, two), set(regs::COMPUTE_RESOURCE_LIMITS, one),
         set(regs::COMPUTE_START_X, geometry),
         pm4::DispatchDirect(kFamily).dim_x(1).dim_y(1).dim_z(1).initiator(0x8005),
         pm4::EventWrite(kFamily)
             .event_type(pm4::EventType::CS_PARTIAL_FLUSH)
             .event_index(pm4::EventIndex::CS_PARTIAL_FLUSH),
         release(signal, 1));
  return stream;
}

void Pm4(benchmark::State& state) {
  EmulatedQueue queue(QueueKind::Pm4, 65536, 1 << 20);
  const uint64_t code = queue.allocate(4096), signal = queue.allocate(4096);
  queue.at_va<uint32_t>(code) = kEndpgm;
  const auto stream = client_stream(code, signal);
  for (auto _ : state) {
    for (uint64_t i = 0; i < kBatch; ++i) queue.submit(stream);
    queue.run();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kBatch));
}
BENCHMARK(Pm4);

void Aql(benchmark::State& state) {
  EmulatedQueue queue(QueueKind::Aql, 65536, 1 << 20);
  const uint64_t code = queue.allocate(4096), object = queue.allocate(4096),
                 signal = queue.allocate(4096);
  queue.at_va<uint32_t>(code) = kEndpgm;
  auto& descriptor = queue.at_va<abi::KernelDescriptor>(object);
  descriptor.kernel_code_entry_byte_offset = static_cast<int64_t>(code - object);
  descriptor.kernel_code_properties = abi::ENABLE_WAVEFRONT_SIZE32;
  const auto packet = aql::KernelDispatch(kFamily)
                          .barrier(true)
                          .dimensions(1)
                          .workgroup_size_x(32)
                          .workgroup_size_y(1)
                          .workgroup_size_z(1)
                          .grid_size_x(32)
                          .grid_size_y(1)
                          .grid_size_z(1)
                          .kernel_object(object)
                          .completion_signal(signal);
  for (auto _ : state) {
    for (uint64_t i = 0; i < kBatch; ++i) queue.submit(packet.dwords());
    queue.run();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kBatch));
}
BENCHMARK(Aql);

}  // namespace
}  // namespace doppel::emu::bench

BENCHMARK_MAIN();
