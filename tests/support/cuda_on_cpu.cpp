// Runs programs on arrays from a file: `run INPUT OUTPUT`.
// INPUT holds jobs: program, backwards, then for each array its size in bytes and its bytes.
// OUTPUT gets the arrays of each job as they are afterwards. A job that fails ends the process.
#include "cuda_on_cpu.h"

#include <cstdio>
#include <deque>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

Place blockIdx, threadIdx, blockDim;
extern char __start_block_shared[] __attribute__((weak));
extern char __stop_block_shared[] __attribute__((weak));

namespace {

const size_t PAGE = 4096, STACK = 1 << 18;
const unsigned TILE = 0x711e711e;  // with the number of a tile, in the registers that hold it
const unsigned char UNWRITTEN = 0xff;  // NaN as a float, -1 as an integer

struct Copy {
  void* to;
  const void* from;  // null: zeros
  unsigned bytes;
  unsigned groups;   // that its thread has committed since, its own among them
};

struct Fiber {
  ucontext_t context;
  char* stack;
  Place place;
  bool done, at_barrier;
  unsigned mask;     // of those for which it waits to exchange values with; 0: for none
  unsigned turn;     // how many values it has left so far
  char left[2][16];  // the last two of them: others may be one exchange behind
  std::vector<Copy> copies;  // under way
};
ucontext_t scheduler;
std::vector<Fiber> fibers;
Fiber* current;
unsigned running;  // threads of a block
std::deque<double[256]> tiles;  // that they hold
const Launch* launched;
void** launched_arrays;

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "block (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y, blockIdx.z, what);
  exit(3);
}

void thread_body() {
  launched->call(launched_arrays);
  current->done = true;
  swapcontext(&current->context, &scheduler);
}

Place place_of(unsigned thread, const unsigned (&block)[3]) {
  return {thread % block[0], thread / block[0] % block[1], thread / block[0] / block[1]};
}

// Lets those go on for whom all that they exchange values with have come.
bool release_exchanges(unsigned threads) {
  bool any = false;
  for (unsigned t = 0; t < threads; t++) {
    unsigned mask = fibers[t].mask, warp = t / 32 * 32;
    if (!mask) continue;
    bool all = true;
    for (unsigned lane = 0; lane < 32 && warp + lane < threads; lane++)
      if (mask >> lane & 1) all &= fibers[warp + lane].mask == mask;
    if (!all) continue;
    any = true;
    for (unsigned lane = 0; lane < 32 && warp + lane < threads; lane++)
      if (mask >> lane & 1) fibers[warp + lane].mask = 0;
  }
  return any;
}

// The threads run one after the other, each as far as it can alone, until all are done.
void run_with_barriers(const Launch& launch, unsigned threads, bool backwards) {
  while (fibers.size() < threads) {
    void* stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) fail("no memory for the threads' stacks");
    fibers.push_back({});
    fibers.back().stack = (char*)stack;
  }
  for (unsigned t = 0; t < threads; t++) {
    Fiber& fiber = fibers[t];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = &scheduler;
    fiber.place = place_of(t, launch.block);
    fiber.done = fiber.at_barrier = false;
    fiber.mask = fiber.turn = 0;
    fiber.copies.clear();
    makecontext(&fiber.context, thread_body, 0);
  }
  running = threads;
  for (;;) {
    unsigned done = 0, at_barrier = 0;
    for (unsigned k = 0; k < threads; k++) {
      current = &fibers[backwards ? threads - 1 - k : k];
      if (!current->done && !current->at_barrier && !current->mask) {
        threadIdx = current->place;
        swapcontext(&scheduler, &current->context);
      }
      done += current->done;
      at_barrier += current->at_barrier;
    }
    if (done == threads) return;
    if (release_exchanges(threads)) continue;
    if (done && at_barrier) fail("some threads wait at a barrier, others are done");
    if (at_barrier < threads) fail("some threads wait to exchange values with others that don't come");
    for (unsigned t = 0; t < threads; t++) fibers[t].at_barrier = false;
  }
}

void run_block(const Launch& launch, bool backwards) {
  tiles.clear();
  if (__start_block_shared)
    memset(__start_block_shared, UNWRITTEN, __stop_block_shared - __start_block_shared);
  unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  blockDim = {launch.block[0], launch.block[1], launch.block[2]};
  if (launch.barriers) return run_with_barriers(launch, threads, backwards);
  for (unsigned k = 0; k < threads; k++) {
    threadIdx = place_of(backwards ? threads - 1 - k : k, launch.block);
    launch.call(launched_arrays);
  }
}

void run(const Launch& launch, void** arrays, bool backwards) {
  launched = &launch;
  launched_arrays = arrays;
  unsigned blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
  for (unsigned k = 0; k < blocks; k++) {
    blockIdx = place_of(backwards ? blocks - 1 - k : k, launch.grid);
    run_block(launch, backwards);
  }
}

// An array that ends, up to its alignment, where a page begins that nobody may touch.
struct Array {
  char *pages, *data;
  size_t bytes, mapped;

  explicit Array(size_t bytes) : bytes(bytes) {
    size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    mapped = room + 2 * PAGE;
    pages = (char*)mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) fail("no memory for an array");
    mprotect(pages, PAGE, PROT_NONE);
    mprotect(pages + PAGE + room, PAGE, PROT_NONE);
    data = pages + PAGE + (room - bytes) / 16 * 16;
  }
  ~Array() { munmap(pages, mapped); }
  Array(const Array&) = delete;
};

template <typename T> bool get(FILE* in, T* value, size_t count = 1) {
  return fread(value, sizeof(T), count, in) == count;
}

}  // namespace

void __syncthreads() {
  current->at_barrier = true;
  swapcontext(&current->context, &scheduler);
  threadIdx = current->place;
}

unsigned lane() { return (current - &fibers[0]) % 32; }

void leave(unsigned mask, const void* value, unsigned bytes) {
  if (!(mask >> lane() & 1)) fail("a thread exchanges outside its mask");
  memcpy(current->left[current->turn++ % 2], value, bytes);
  current->mask = mask;
  swapcontext(&current->context, &scheduler);
  threadIdx = current->place;
}

const void* left_by(unsigned mask, unsigned other) {
  unsigned thread = current - &fibers[0] - lane() + other;
  if (!(mask >> other & 1)) fail("a thread exchanges outside its mask");
  if (thread >= running) fail("a thread exchanges with one that is not there");
  return fibers[thread].left[(current->turn - 1) % 2];
}

bool holds_tile(const void* registers) {
  unsigned held[2];
  memcpy(held, registers, sizeof held);
  return held[0] == TILE && held[1] < tiles.size();
}

double* tile_in(const void* registers) {
  if (!holds_tile(registers)) fail("a fragment is read that nothing was loaded into");
  return tiles[((const unsigned*)registers)[1]];
}

double* new_tile_in(void* registers) {
  if (!holds_tile(registers)) {
    unsigned held[2] = {TILE, (unsigned)tiles.size()};
    tiles.emplace_back();
    memcpy(registers, held, sizeof held);
  }
  return tile_in(registers);
}

void check_tile(const void* shared, unsigned row_bytes) {
  if ((size_t)shared % 32 || row_bytes % 16) fail("a tile is not aligned");
}

void check_row(const void* row) {
  if ((size_t)row % 16) fail("a row of ldmatrix is not aligned");
}

void begin_copy(void* to, const void* from, unsigned bytes, bool read) {
  if ((size_t)to % bytes || (read && (size_t)from % bytes)) fail("a copy is not aligned");
  memset(to, UNWRITTEN, bytes);
  current->copies.push_back({to, read ? from : nullptr, bytes, 0});
}

void commit_copies() {
  for (Copy& copy : current->copies) copy.groups++;
}

void wait_for_copies(unsigned count) {
  std::vector<Copy> left;
  for (Copy& copy : current->copies) {
    if (copy.groups <= count) left.push_back(copy);
    else if (copy.from) memcpy(copy.to, copy.from, copy.bytes);
    else memset(copy.to, 0, copy.bytes);
  }
  current->copies = left;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  if (!in || !out) return 2;
  int64_t header[2];  // program, backwards
  for (int job = 0; get(in, header, 2); job++) {
    fprintf(stderr, "job %d\n", job);
    const Program& program = programs[header[0]];
    std::vector<Array*> arrays;
    std::vector<void*> data;
    for (int k = 0; k < program.arrays; k++) {
      int64_t bytes;
      if (!get(in, &bytes)) return 2;
      arrays.push_back(new Array(bytes));
      if (!get(in, arrays.back()->data, bytes)) return 2;
      data.push_back(arrays.back()->data);
    }
    for (int k = 0; k < program.launches; k++) run(program.launch[k], data.data(), header[1]);
    for (Array* array : arrays) {
      fwrite(array->data, 1, array->bytes, out);
      delete array;
    }
  }
  return fclose(out) ? 2 : 0;
}
