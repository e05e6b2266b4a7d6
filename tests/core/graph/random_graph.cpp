#include "tests/core/graph/random_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/open_device.h"
#include "core/prng.h"
#include "tests/paths.h"

namespace doppel::test {
namespace {

constexpr uint32_t kMaxNodes = 24;
constexpr uint32_t kMaxLaunches = 4;

bool is_kernel(NodeKind kind) {
  return kind == NodeKind::Affine || kind == NodeKind::Accumulate;
}

bool overlap(const Range& a, const Range& b, uint32_t words) {
  return a.buffer == b.buffer && a.offset < b.offset + words && b.offset < a.offset + words;
}

Range random_range(Prng& prng, uint32_t buffers, uint32_t words) {
  return {static_cast<uint32_t>(prng.below(buffers)),
          static_cast<uint32_t>(prng.below(kBufferWords - words + 1))};
}

/// Ranges that a node may have: a kernel's are equal or disjoint, a copy's disjoint.
void draw_ranges(Prng& prng, uint32_t buffers, NodeSpec& node) {
  do {
    node.in = random_range(prng, buffers, node.words);
    node.out = random_range(prng, buffers, node.words);
    if (is_kernel(node.kind) && prng.below(6) == 0) node.out = node.in;
  } while (overlap(node.in, node.out, node.words) &&
           !(is_kernel(node.kind) && node.in == node.out));
}

void draw_values(Prng& prng, NodeSpec& node) {
  node.factor = static_cast<uint32_t>(prng.next()) | 1;
  node.addend = static_cast<uint32_t>(prng.next());
  node.workgroup = 32u << prng.below(4);
}

NodeSpec random_node(Prng& prng, const GraphSpec& spec) {
  NodeSpec node;
  node.kind = static_cast<NodeKind>(prng.below(4));
  node.device = static_cast<uint32_t>(prng.below(spec.devices));
  node.words = static_cast<uint32_t>(1 + prng.below(kBufferWords / 2));
  draw_ranges(prng, spec.buffers, node);
  draw_values(prng, node);
  const auto before = static_cast<uint32_t>(spec.nodes.size());
  if (before > 0 && prng.below(8) == 0)
    node.after.push_back(static_cast<uint32_t>(prng.below(before)));
  return node;
}

ChangeSpec random_change(Prng& prng, const GraphSpec& spec) {
  ChangeSpec change;
  change.node = static_cast<uint32_t>(prng.below(spec.nodes.size()));
  change.now = spec.nodes[change.node];
  draw_values(prng, change.now);
  if (prng.below(2)) draw_ranges(prng, spec.buffers, change.now);
  return change;
}

std::string to_string(const Range& range, uint32_t words) {
  return fmt::format("b{}[{}..{}]", range.buffer, range.offset, range.offset + words);
}

std::string to_string(const NodeSpec& node) {
  const std::string in = to_string(node.in, node.words), out = to_string(node.out, node.words);
  switch (node.kind) {
    case NodeKind::Affine:
      return fmt::format("gpu{} {} = {} * {:#x} + {:#x}, workgroups of {}", node.device, out, in,
                         node.factor, node.addend, node.workgroup);
    case NodeKind::Accumulate:
      return fmt::format("gpu{} {} += {} * 3, workgroups of {}", node.device, out, in,
                         node.workgroup);
    case NodeKind::Copy:
      return fmt::format("sdma{} {} = {}", node.device, out, in);
    case NodeKind::Fill:
      return fmt::format("sdma{} {} = {:#x}", node.device, out, node.addend);
  }
  return "?";
}

/// The spec's buffers and nodes as a Graph and its GraphExec.
class Run {
 public:
  Run(const GraphMachine& machine, const GraphSpec& spec, Defect defect)
      : machine_(machine), spec_(spec), defect_(defect) {}

  Result<> open();
  Result<> apply(const ChangeSpec& change);
  GraphExec& exec() { return *exec_; }
  Result<Memory> read();

 private:
  Device& device(uint32_t index) { return *machine_.devices()[index]; }
  MemoryView view(const Range& range, uint32_t words) const {
    return *buffers_[range.buffer].slice(range.offset * 4, words * 4);
  }
  Result<GraphNode> record(const NodeSpec& node);
  Dim3 grid(const NodeSpec& node) const {
    return {(node.words + node.workgroup - 1) / node.workgroup};
  }

  const GraphMachine& machine_;
  const GraphSpec& spec_;
  Defect defect_;
  std::vector<Allocation> buffers_;
  Graph graph_;
  std::vector<GraphNode> nodes_;
  std::optional<GraphExec> exec_;
};

Result<> Run::open() {
  const Memory memory = initial_memory(spec_);
  for (uint32_t index = 0; index < spec_.buffers; ++index) {
    Device& owner = device(index % spec_.devices);
    DOPPEL_ASSIGN(
        Allocation buffer,
        owner.allocate(kBufferWords * 4, {.domain = domain_of(spec_, index), .cpu_visible = true}));
    DOPPEL_TRY(owner.write(buffer, memory[index]));
    buffers_.push_back(std::move(buffer));
  }
  // Bindings may change to any buffer.
  for (const Allocation& buffer : buffers_)
    for (uint32_t index = 0; index < spec_.devices; ++index) DOPPEL_TRY(device(index).map(buffer));
  for (const NodeSpec& node : spec_.nodes) {
    DOPPEL_ASSIGN(const GraphNode recorded, record(node));
    nodes_.push_back(recorded);
  }
  std::vector<Device*> devices;
  for (uint32_t index = 0; index < spec_.devices; ++index) devices.push_back(&device(index));
  DOPPEL_ASSIGN(exec_, graph_.instantiate(devices, {.executor = spec_.executor}));
  return {};
}

Result<GraphNode> Run::record(const NodeSpec& node) {
  GraphNodeOptions options;
  for (uint32_t before : node.after) options.after.push_back(nodes_[before]);
  const MemoryView in = view(node.in, node.words), out = view(node.out, node.words);
  const bool forgets = defect_ == Defect::ForgetsWrites;
  const auto written = [&](const AccessedBuffer& declared) {
    return forgets ? reads(out) : declared;
  };
  switch (node.kind) {
    case NodeKind::Affine:
      return graph_.kernel(machine_.kernel("affine", node.device),
                           args(in, written(writes(out)), node.factor, node.addend, node.words),
                           grid(node), node.workgroup, options);
    case NodeKind::Accumulate:
      return graph_.kernel(machine_.kernel("accumulate", node.device),
                           args(in, written(reads_writes(out)), node.words), grid(node),
                           node.workgroup, options);
    case NodeKind::Copy:
      options.device = &device(node.device);
      return graph_.copy(in, out, options);
    case NodeKind::Fill:
      options.device = &device(node.device);
      return graph_.fill(out, node.addend, options);
  }
  return error(StatusCode::InvalidArgument, "The node is of no kind.");
}

Result<> Run::apply(const ChangeSpec& change) {
  const GraphNode node = nodes_[change.node];
  const NodeSpec& now = change.now;
  const MemoryView in = view(now.in, now.words), out = view(now.out, now.words);
  if (now.kind == NodeKind::Fill) {
    DOPPEL_TRY(exec_->set_pattern(node, now.addend));
    return exec_->set_buffer(node, 0, out);
  }
  DOPPEL_TRY(exec_->set_buffer(node, 0, in));
  DOPPEL_TRY(exec_->set_buffer(node, 1, out));
  if (now.kind == NodeKind::Copy) return {};
  DOPPEL_TRY(exec_->set_dims(node, grid(now), now.workgroup));
  if (now.kind == NodeKind::Accumulate) return {};
  DOPPEL_TRY(exec_->set_scalar(node, 2, now.factor));
  return exec_->set_scalar(node, 3, now.addend);
}

Result<Memory> Run::read() {
  Memory memory;
  for (const Allocation& buffer : buffers_) {
    DOPPEL_ASSIGN(std::vector<uint32_t> words, buffer.owner()->read<uint32_t>(buffer));
    memory.push_back(std::move(words));
  }
  return memory;
}

std::string difference(const Memory& actual, const Memory& expected) {
  for (uint32_t buffer = 0; buffer < expected.size(); ++buffer) {
    for (uint32_t word = 0; word < kBufferWords; ++word) {
      if (actual[buffer][word] == expected[buffer][word]) continue;
      return fmt::format("b{}[{}] is {:#x}, expected {:#x}", buffer, word, actual[buffer][word],
                         expected[buffer][word]);
    }
  }
  return "";
}

/// Whether the only reason not to launch is that the new buffers alias.
bool refuses_aliasing(const GraphLaunch& launch) {
  return !launch.status() && launch.status().error().code() == StatusCode::InvalidArgument &&
         launch.status().error().message().find("share memory") != std::string::npos;
}

void remove_node(GraphSpec& spec, uint32_t index) {
  spec.nodes.erase(spec.nodes.begin() + index);
  for (NodeSpec& node : spec.nodes) {
    std::erase(node.after, index);
    for (uint32_t& before : node.after) before -= before > index;
  }
  for (std::vector<ChangeSpec>& launch : spec.launches) {
    std::erase_if(launch, [&](const ChangeSpec& change) { return change.node == index; });
    for (ChangeSpec& change : launch) change.node -= change.node > index;
  }
}

/// Every way to make `spec` one step smaller.
std::vector<GraphSpec> smaller(const GraphSpec& spec) {
  std::vector<GraphSpec> candidates;
  const auto with = [&](auto edit) {
    GraphSpec copy = spec;
    edit(copy);
    candidates.push_back(std::move(copy));
  };
  for (uint32_t launch = static_cast<uint32_t>(spec.launches.size()); launch-- > 1;)
    with([&](GraphSpec& copy) { copy.launches.erase(copy.launches.begin() + launch); });
  for (uint32_t node = static_cast<uint32_t>(spec.nodes.size()); node-- > 0;)
    with([&](GraphSpec& copy) { remove_node(copy, node); });
  for (size_t launch = 0; launch < spec.launches.size(); ++launch)
    for (size_t change = 0; change < spec.launches[launch].size(); ++change)
      with([&](GraphSpec& copy) {
        auto& changes = copy.launches[launch];
        changes.erase(changes.begin() + static_cast<ptrdiff_t>(change));
      });
  for (size_t node = 0; node < spec.nodes.size(); ++node)
    if (!spec.nodes[node].after.empty())
      with([&](GraphSpec& copy) { copy.nodes[node].after.clear(); });
  return candidates;
}

}  // namespace

GraphSpec random_graph(uint64_t seed, uint32_t devices, GraphExecutor executor) {
  Prng prng(seed);
  GraphSpec spec{.devices = devices, .executor = executor, .nodes = {}, .launches = {{}}};
  spec.buffers = static_cast<uint32_t>(devices + prng.below(4));
  for (uint64_t count = 1 + prng.below(kMaxNodes); count > 0; --count)
    spec.nodes.push_back(random_node(prng, spec));
  for (uint64_t count = prng.below(kMaxLaunches); count > 0; --count) {
    auto& changes = spec.launches.emplace_back();
    for (uint64_t changed = prng.below(4); changed > 0; --changed)
      changes.push_back(random_change(prng, spec));
  }
  return spec;
}

std::string to_string(const GraphSpec& spec) {
  std::string text =
      fmt::format("{} on {} devices, buffers in", to_string(spec.executor), spec.devices);
  for (uint32_t buffer = 0; buffer < spec.buffers; ++buffer)
    text += fmt::format(" {}", doppel::to_string(domain_of(spec, buffer)));
  text += "\n";
  for (size_t index = 0; index < spec.nodes.size(); ++index) {
    text += fmt::format("  {}: {}", index, to_string(spec.nodes[index]));
    for (uint32_t before : spec.nodes[index].after) text += fmt::format(", after {}", before);
    text += "\n";
  }
  for (size_t launch = 1; launch < spec.launches.size(); ++launch) {
    text += fmt::format("  launch {}\n", launch + 1);
    for (const ChangeSpec& change : spec.launches[launch])
      text += fmt::format("    {}: {}\n", change.node, to_string(change.now));
  }
  return text;
}

MemoryDomain domain_of(const GraphSpec& spec, uint32_t buffer) {
  if (buffer < spec.devices) return MemoryDomain::Vram;
  constexpr MemoryDomain kKinds[] = {MemoryDomain::Gtt, MemoryDomain::Host, MemoryDomain::Vram};
  return kKinds[(buffer - spec.devices) % std::size(kKinds)];
}

Memory initial_memory(const GraphSpec& spec) {
  Memory memory(spec.buffers, std::vector<uint32_t>(kBufferWords));
  Prng prng(spec.buffers);
  for (std::vector<uint32_t>& buffer : memory)
    for (uint32_t& word : buffer) word = static_cast<uint32_t>(prng.next());
  return memory;
}

void run_in_order(std::span<const NodeSpec> nodes, Memory& memory) {
  for (const NodeSpec& node : nodes) {
    const uint32_t* in = memory[node.in.buffer].data() + node.in.offset;
    uint32_t* out = memory[node.out.buffer].data() + node.out.offset;
    for (uint32_t i = 0; i < node.words; ++i) {
      if (node.kind == NodeKind::Affine) out[i] = in[i] * node.factor + node.addend;
      if (node.kind == NodeKind::Accumulate) out[i] += in[i] * 3;
      if (node.kind == NodeKind::Copy) out[i] = in[i];
      if (node.kind == NodeKind::Fill) out[i] = node.addend;
    }
  }
}

Result<GraphMachine> GraphMachine::open(std::string_view name, const Verify& verify) {
  GraphMachine machine;
  DOPPEL_ASSIGN(machine.devices_, open_devices(name, {.verify = verify}));
  for (const auto& device : machine.devices_) {
    DOPPEL_ASSIGN(Program program, device->load_program(kernel_file(
                                       fmt::format("graph_kernels.{}.co", device->target().name))));
    machine.programs_.push_back(std::move(program));
  }
  return machine;
}

std::string GraphMachine::check(const GraphSpec& spec, uint32_t* refused, Defect defect) {
  Run run(*this, spec, defect);
  if (auto opened = run.open(); !opened) return opened.error().to_string();
  Memory expected = initial_memory(spec);
  std::vector<NodeSpec> nodes = spec.nodes;
  for (size_t number = 0; number < spec.launches.size(); ++number) {
    const std::vector<NodeSpec> before = nodes;
    for (const ChangeSpec& change : spec.launches[number]) {
      if (auto applied = run.apply(change); !applied) return applied.error().to_string();
      nodes[change.node] = change.now;
    }
    GraphLaunch launch = run.exec().launch();
    if (refuses_aliasing(launch)) {
      if (refused != nullptr) ++*refused;
      for (const ChangeSpec& change : spec.launches[number])
        if (auto undone = run.apply({change.node, before[change.node]}); !undone)
          return undone.error().to_string();
      nodes = before;
      launch = run.exec().launch();
    }
    if (auto done = launch.wait(); !done)
      return fmt::format("launch {}: {}", number + 1, done.error().to_string());
    run_in_order(nodes, expected);
    const auto actual = run.read();
    if (!actual) return actual.error().to_string();
    if (std::string wrong = difference(*actual, expected); !wrong.empty())
      return fmt::format("after launch {}: {}", number + 1, wrong);
  }
  return "";
}

GraphSpec shrink(GraphSpec spec, const std::function<bool(const GraphSpec&)>& fails) {
  for (bool progress = true; progress;) {
    progress = false;
    for (GraphSpec& candidate : smaller(spec)) {
      if (candidate.nodes.empty() || !fails(candidate)) continue;
      spec = std::move(candidate);
      progress = true;
      break;
    }
  }
  return spec;
}

}  // namespace doppel::test
