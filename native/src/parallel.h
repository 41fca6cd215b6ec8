// Work on all processors: threads that outlive the call that first needed them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>

namespace planezip {

// For a few instructions at a time: a mutex would put threads to sleep for longer than they wait.
class SpinLock {
public:
    void lock() {
        for (unsigned tries = 0; held_.exchange(true, std::memory_order_acquire);) {
            while (held_.load(std::memory_order_relaxed)) {
                if (++tries % kSpins == 0) std::this_thread::yield();
            }
        }
    }
    void unlock() { held_.store(false, std::memory_order_release); }

private:
    static constexpr unsigned kSpins = 1000;
    std::atomic<bool> held_{false};
};

// As many workers as are allowed and have at least one item; at least one.
inline unsigned worker_count(size_t items, unsigned threads) {
    return static_cast<unsigned>(std::clamp<size_t>(items, 1, threads));
}

// Calls task(context, i) for i = 0 ... count - 1, on the caller's thread and those of the pool, and
// returns when all have returned. The tasks must not throw, and none may wait for one that is not
// running yet.
void run_tasks(unsigned count, void (*task)(void* context, unsigned i), void* context);

// Calls work(i) for every worker as run_tasks() does; rethrows the exception of the lowest worker
// that threw.
template <class Work>
void for_each_worker(unsigned workers, Work work) {
    if (workers == 1) return work(0u);
    struct Context {
        Work& work;
        std::mutex lock;
        unsigned failed;
        std::exception_ptr error;
    } context{work, {}, workers, nullptr};
    const auto guarded = [](void* shared, unsigned i) {
        auto& context = *static_cast<Context*>(shared);
        try {
            context.work(i);
        } catch (...) {
            const std::lock_guard<std::mutex> guard(context.lock);
            if (i >= context.failed) return;
            context.failed = i;
            context.error = std::current_exception();
        }
    };
    run_tasks(workers, guarded, &context);
    if (context.error) std::rethrow_exception(context.error);
}

}  // namespace planezip
