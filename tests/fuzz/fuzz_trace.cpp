// Any bytes as a trace: reading, seeking, decoding; and, behind a good frame, as one record.
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>

#include "backends/capture/record.h"
#include "backends/capture/trace_reader.h"
#include "core/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace doppel;
  using namespace doppel::capture;
  if (size > 1 << 20) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto record = decode(bytes)) {
    DOPPEL_ASSERT(decode(encode(*record)).has_value(), "a record does not come back");
  }
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  auto reader = TraceReader::open(in);
  if (!reader) return 0;
  while (true) {
    const auto record = reader->next();
    if (!record || !*record) break;
    (void)decode(**record);
  }
  if (reader->seek(reader->records() / 2)) (void)reader->next();
  return 0;
}
