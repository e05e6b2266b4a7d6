// What a queue's type says of its ring (linux/kfd_ioctl.h, and the hardware's write pointers).
#pragma once

#include <cstdint>

#include "backends/kfd/kfd_abi.h"
#include "core/packets/row.h"

namespace doppel::capture {

/// `queue_type` is a KFD_IOC_QUEUE_TYPE_*.
inline packets::Language language_of(uint32_t queue_type) {
  switch (queue_type) {
    case KFD_IOC_QUEUE_TYPE_SDMA:
    case KFD_IOC_QUEUE_TYPE_SDMA_XGMI:
      return packets::Language::Sdma;
    case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
      return packets::Language::Aql;
    default:
      return packets::Language::Pm4;
  }
}

/// Bytes that one unit of the write pointer is.
inline uint64_t bytes_per_unit(packets::Language language) {
  switch (language) {
    case packets::Language::Sdma:
      return 1;  // bytes
    case packets::Language::Aql:
      return 64;  // packets
    default:
      return 4;  // dwords
  }
}

}  // namespace doppel::capture
