// Stand-in for libcublasLt: what the product calls of it. Descriptors are structures of our own behind the library's
// opaque pointers. Time is flop / rate of the type, whatever the size; a product with a side below 256 also waits for
// memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "tests/virtual_platform/cublaslt/product.h"
#include "tests/virtual_platform/engine/calls.h"
#include "tests/virtual_platform/engine/identity.h"
#include "tests/virtual_platform/engine/stream.h"

struct cublasLtContext {
  int device = 0;
};

namespace {

using namespace virtual_platform;            // NOLINT(google-build-using-namespace)
using namespace virtual_platform::cublaslt;  // NOLINT(google-build-using-namespace)

struct Preference {
  std::uint64_t workspace_bytes = 0;
  std::uint32_t alignment = 256;  // the least that operands have
};

// What the heuristic offers, in this order: the first is not the best, and the best needs a workspace.
struct Algorithm {
  int id;
  double efficiency;  // of the spec's rate
  std::uint64_t workspace_bytes;
};
constexpr std::array<Algorithm, 4> algorithms = {
    {{66, 0.91, 0}, {67, 1.0, std::uint64_t{4} << 20}, {71, 0.83, 1U << 20}, {21, 0.58, 0}}};

Layout& layout_of(cublasLtMatrixLayout_t handle) { return *reinterpret_cast<Layout*>(handle); }
Description& description_of(cublasLtMatmulDesc_t handle) { return *reinterpret_cast<Description*>(handle); }
Preference& preference_of(cublasLtMatmulPreference_t handle) { return *reinterpret_cast<Preference*>(handle); }

cublasStatus_t refusal(const char* function, cublasStatus_t code = CUBLAS_STATUS_INTERNAL_ERROR) {
  return static_cast<cublasStatus_t>(fail_point(function, code));
}

template <class T>
cublasStatus_t assign(T& target, const void* value, std::size_t size) {
  if (value == nullptr || size != sizeof target) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&target, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

// An algorithm is kept as its number in the table plus 1, so that zeros are none.
const Algorithm* algorithm_of(const cublasLtMatmulAlgo_t* algorithm) {
  if (algorithm == nullptr || algorithm->data[0] == 0 || algorithm->data[0] > algorithms.size()) return nullptr;
  return &algorithms[algorithm->data[0] - 1];
}

double seconds_of(const Problem& problem, const Gpu& gpu, double efficiency) {
  const std::string key(rate_key(problem, gpu.compute_capability));
  const double computing = problem.flop() / (gpu.gemm_tflops.at(key) * 1e12 * efficiency);
  if (std::min({problem.m(), problem.n(), problem.k()}) >= 256) return computing;
  const auto bytes = static_cast<double>(problem.a.bytes() + problem.b.bytes() + problem.d.bytes());
  return std::max(computing, bytes / (gpu.memory_gbps * 1e9));
}

std::shared_ptr<const Footprint> footprint_of(const Problem& problem, const Operands& operands) {
  auto footprint = std::make_shared<Footprint>();
  footprint->reads = {range(operands.a, problem.a.bytes()), range(operands.b, problem.b.bytes())};
  const auto add_scale = [&](const void* scale, std::int32_t mode, std::uint64_t rows) {
    if (scale == nullptr) return;
    const bool blocks = mode == scale_of_16;
    footprint->reads.push_back(range(scale, blocks ? block_scale_bytes(rows, problem.k()) : sizeof(float)));
  };
  add_scale(operands.scale_a, problem.description.scale_mode_a, problem.m());
  add_scale(operands.scale_b, problem.description.scale_mode_b, problem.n());
  if (operands.beta != 0) footprint->reads.push_back(range(operands.c, problem.c.bytes()));
  footprint->writes = {range(operands.d, problem.d.bytes())};
  return footprint;
}

void compute(const Problem& problem, Operands operands) {
  if (problem.flop() > flop_limit()) return;
  for (const void** address : {&operands.a, &operands.b, &operands.c, &operands.scale_a, &operands.scale_b})
    *address = accessible(*address);
  operands.d = accessible(operands.d);
  multiply(problem, operands);
}

std::uint64_t identity_of(const Problem& problem, const Operands& operands) {
  Identity identity("cublasLtMatmul");
  identity.add(operands.a).add(operands.b).add(operands.d).add(operands.scale_a).add(operands.scale_b);
  for (const Layout* layout : {&problem.a, &problem.b, &problem.d})
    identity.add(static_cast<std::uint64_t>(layout->type))
        .add(layout->rows)
        .add(layout->columns)
        .add(static_cast<std::uint64_t>(layout->leading))
        .add(static_cast<std::uint64_t>(layout->batch))
        .add(static_cast<std::uint64_t>(layout->stride));
  identity.add(static_cast<std::uint64_t>(problem.description.compute));
  return identity.value();
}

// alpha and beta are in host memory and of the scale type.
double read_scalar(const void* value, cudaDataType_t type) {
  const std::size_t size = type == CUDA_R_64F ? 8 : 4;
  const DataType known = type == CUDA_R_64F ? DataType::fp64 : type == CUDA_R_32I ? DataType::int32 : DataType::fp32;
  return claimcheck::kernels::decode(known, {static_cast<const std::byte*>(value), size}, 1)[0];
}

// The alignment the heuristic was told of is kept with the algorithm.
bool are_aligned(const cublasLtMatmulAlgo_t& algorithm, std::initializer_list<const void*> addresses) {
  return std::all_of(addresses.begin(), addresses.end(), [&](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % algorithm.data[1] == 0;
  });
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (const auto code = refusal("cublasLtCreate", CUBLAS_STATUS_NOT_INITIALIZED)) return code;
  if (start_up_error() != 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext{current_device()};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (const auto code = refusal("cublasLtDestroy")) return code;
  const int status = synchronise_device(handle->device);  // the library's manual: it may wait for the device
  delete handle;
  return status == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

std::size_t cublasLtGetVersion() {
  fail_point("cublasLtGetVersion", 0);
  return CUBLAS_VERSION;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  if (const auto code = refusal("cublasLtMatrixLayoutCreate", CUBLAS_STATUS_ALLOC_FAILED)) return code;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t size) {
  if (const auto code = refusal("cublasLtMatrixLayoutSetAttribute")) return code;
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return assign(layout_of(handle).batch, value, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return assign(layout_of(handle).stride, value, size);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  if (const auto code = refusal("cublasLtMatrixLayoutDestroy")) return code;
  delete &layout_of(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (const auto code = refusal("cublasLtMatmulDescCreate", CUBLAS_STATUS_ALLOC_FAILED)) return code;
  auto created = std::make_unique<Description>();
  created->compute = compute;
  created->scale = scale;
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(created.release());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  if (const auto code = refusal("cublasLtMatmulDescDestroy")) return code;
  delete &description_of(description);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t size) {
  if (const auto code = refusal("cublasLtMatmulDescSetAttribute")) return code;
  Description& description = description_of(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(description.transpose_a, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(description.transpose_b, value, size);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return assign(description.scale_a, value, size);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return assign(description.scale_b, value, size);
#if CUBLAS_VERSION >= 120800
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return assign(description.scale_mode_a, value, size);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return assign(description.scale_mode_b, value, size);
#endif
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (const auto code = refusal("cublasLtMatmulPreferenceCreate", CUBLAS_STATUS_ALLOC_FAILED)) return code;
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  if (const auto code = refusal("cublasLtMatmulPreferenceDestroy")) return code;
  delete &preference_of(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t size) {
  if (const auto code = refusal("cublasLtMatmulPreferenceSetAttribute")) return code;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return assign(preference_of(preference).workspace_bytes, value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return assign(preference_of(preference).alignment, value, size);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (const auto code = refusal("cublasLtMatmulAlgoGetHeuristic")) return code;
  *found = 0;
  if (handle == nullptr || wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const Problem problem{description_of(description), layout_of(a), layout_of(b), layout_of(c), layout_of(d)};
  if (const auto code = support(problem, *device(handle->device).gpu)) return code;
  for (std::size_t i = 0; i < algorithms.size() && *found < wanted; i++) {
    if (algorithms[i].workspace_bytes > preference_of(preference).workspace_bytes) continue;
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result = {};
    result.algo.data[0] = i + 1;
    result.algo.data[1] = preference_of(preference).alignment;
    result.workspaceSize = algorithms[i].workspace_bytes;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    std::size_t size, std::size_t* written) {
  if (const auto code = refusal("cublasLtMatmulAlgoConfigGetAttribute")) return code;
  const Algorithm* known = algorithm_of(algorithm);
  if (known == nullptr || size < sizeof(int)) return CUBLAS_STATUS_INVALID_VALUE;
  const int number = attribute == CUBLASLT_ALGO_CONFIG_ID ? known->id : 20;
  std::memcpy(value, &number, sizeof number);
  if (written != nullptr) *written = sizeof number;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                              cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t workspace_bytes,
                              cudaStream_t stream) {
  if (const auto code = refusal("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED)) return code;
  const Problem problem{description_of(description), layout_of(layout_a), layout_of(layout_b), layout_of(layout_c),
                        layout_of(layout_d)};
  const Gpu& gpu = *device(handle->device).gpu;
  if (const auto code = support(problem, gpu)) return code;
  const Algorithm* chosen = algorithm_of(algorithm);
  Stream* queue = as_stream(stream);
  if (chosen == nullptr || queue == nullptr || device_of(*queue) != handle->device) return CUBLAS_STATUS_INVALID_VALUE;
  const bool has_room = workspace_bytes >= chosen->workspace_bytes &&
                        (chosen->workspace_bytes == 0 || find_allocation(reinterpret_cast<Address>(workspace)));
  if (!has_room || !are_aligned(*algorithm, {a, b, d})) return CUBLAS_STATUS_INVALID_VALUE;
  const cudaDataType_t scale = problem.description.scale;
  const Operands operands{a,
                          b,
                          c,
                          d,
                          problem.description.scale_a,
                          problem.description.scale_b,
                          read_scalar(alpha, scale),
                          read_scalar(beta, scale)};
  const double seconds = seconds_of(problem, gpu, chosen->efficiency);
  Work work{.kind = "gemm", .name = "cublasLtMatmul"};
  work.engines = {{handle->device, Engine::compute}};
  work.footprint = footprint_of(problem, operands);
  // Computed only when somebody reads it before the same product is done again.
  if (operands.beta == 0) work.identity = identity_of(problem, operands);
  work.effect = [problem, operands] { compute(problem, operands); };
  work.seconds = [seconds](double) { return seconds; };
  return enqueue(*queue, std::move(work)) == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS         ? "success"
         : status == CUBLAS_STATUS_NOT_SUPPORTED ? "the functionality is not supported"
                                                 : "the operation failed";
}

#pragma GCC visibility pop
}
