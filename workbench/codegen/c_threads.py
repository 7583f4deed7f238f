"""How cores share loops in C: by OpenMP, by a pool of POSIX threads in the text, or not at all."""

from dataclasses import replace

from workbench.codegen.c import C

POOL = """#include <pthread.h>
#include <unistd.h>

// A pool of threads, which share the iterations of a loop out, each a part of its own.
typedef void (*part_of_loop)(void* given, int64_t first, int64_t stop);
static struct {
  pthread_mutex_t lock;
  pthread_cond_t begun, done;
  part_of_loop work;
  void* given;
  int64_t first, stop;
  int threads, busy, round;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
          NULL, NULL, 0, 0, 0, 0, 0};

static void do_part(int number) {
  int64_t count = pool.stop - pool.first;
  int64_t first = pool.first + count * number / pool.threads;
  int64_t stop = pool.first + count * (number + 1) / pool.threads;
  if (first < stop) pool.work(pool.given, first, stop);
}

static void* work_in_pool(void* number) {
  for (int round = 0;;) {
    pthread_mutex_lock(&pool.lock);
    while (pool.round == round) pthread_cond_wait(&pool.begun, &pool.lock);
    round = pool.round;
    pthread_mutex_unlock(&pool.lock);
    do_part((int)(intptr_t)number);
    pthread_mutex_lock(&pool.lock);
    if (--pool.busy == 0) pthread_cond_signal(&pool.done);
    pthread_mutex_unlock(&pool.lock);
  }
  return NULL;
}

static void start_pool(void) {
  const char* asked = getenv("OMP_NUM_THREADS");
  long cores = asked ? atol(asked) : sysconf(_SC_NPROCESSORS_ONLN);
  for (pool.threads = 1; pool.threads < cores; ++pool.threads) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_in_pool, (void*)(intptr_t)pool.threads)) break;
    pthread_detach(thread);
  }
}

static void share_out(part_of_loop work, void* given, int64_t first, int64_t stop) {
  if (pool.threads == 0) start_pool();
  pthread_mutex_lock(&pool.lock);
  pool.work = work;
  pool.given = given;
  pool.first = first;
  pool.stop = stop;
  pool.busy = pool.threads - 1;
  ++pool.round;
  pthread_cond_broadcast(&pool.begun);
  pthread_mutex_unlock(&pool.lock);
  do_part(0);
  pthread_mutex_lock(&pool.lock);
  while (pool.busy > 0) pthread_cond_wait(&pool.done, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}"""

_ALONE = {kind: line for kind, line in C.loops.items() if kind != "parallel"}
C_BY = {
    "openmp": C,
    "threads": replace(C, loops=_ALONE, pool=POOL),
    "nothing": replace(C, loops=_ALONE),
}
