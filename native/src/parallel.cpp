#include "parallel.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <system_error>
#include <thread>

#if defined(_WIN32)
#include <process.h>
#define getpid _getpid
#else
#include <unistd.h>
#endif

namespace planezip {
namespace {

struct Job {
    void (*task)(void*, unsigned);
    void* context;
    unsigned count;
    unsigned begun = 0, done = 0;
    std::condition_variable finished = {};
};

// Threads that take tasks of the oldest job that has some left. They start when a job first wants
// them and never end: the pool is not destroyed, for they wait in it until the process exits.
class Pool {
public:
    void run(Job& job) {
        std::unique_lock<std::mutex> guard(lock_);
        jobs_.push_back(&job);
        start_threads(job.count - 1);
        if (job.count == 2) {
            wake_.notify_one();
        } else {
            wake_.notify_all();
        }
        while (job.begun < job.count) work_on(job, guard);
        job.finished.wait(guard, [&] { return job.done == job.count; });
    }

private:
    // Begins the next task of a job; lets go of the lock meanwhile.
    void work_on(Job& job, std::unique_lock<std::mutex>& guard) {
        const unsigned i = job.begun++;
        if (job.begun == job.count) jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
        guard.unlock();
        job.task(job.context, i);
        guard.lock();
        if (++job.done == job.count) job.finished.notify_one();
    }

    void serve() {
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            wake_.wait(guard, [this] { return !jobs_.empty(); });
            work_on(*jobs_.front(), guard);
        }
    }

    // If the system has no more threads, the callers do the work.
    void start_threads(unsigned wanted) {
        try {
            for (; threads_ < std::min(wanted, most_); ++threads_) {
                std::thread([this] { serve(); }).detach();
            }
        } catch (const std::system_error&) {
        }
    }

    std::mutex lock_;
    std::condition_variable wake_;
    std::deque<Job*> jobs_;
    const unsigned most_ = std::max(1u, std::thread::hardware_concurrency());
    unsigned threads_ = 0;
};

struct OwnedPool {
    Pool pool;
    decltype(getpid()) process = getpid();
};

// A process that was forked has none of its parent's threads, and starts a pool of its own.
Pool& pool() {
    static std::atomic<OwnedPool*> current{nullptr};
    OwnedPool* found = current.load(std::memory_order_acquire);
    while (!found || found->process != getpid()) {
        auto* const created = new OwnedPool;
        if (current.compare_exchange_strong(found, created)) return created->pool;
        delete created;
    }
    return found->pool;
}

}  // namespace

void run_tasks(unsigned count, void (*task)(void*, unsigned), void* context) {
    Job job{task, context, count};
    pool().run(job);
}

}  // namespace planezip
