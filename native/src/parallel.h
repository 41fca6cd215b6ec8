// Splits independent work over threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace planezip {

// The part of [0, count) that belongs to worker `i` of `workers`.
struct Range {
    size_t begin, end;
};

inline Range share(size_t count, unsigned workers, unsigned i) {
    const size_t each = count / workers;
    const size_t more = count % workers;
    const size_t begin = i * each + std::min<size_t>(i, more);
    return {begin, begin + each + (i < more)};
}

// As many workers as are allowed and have at least one item; at least one.
inline unsigned worker_count(size_t items, unsigned threads) {
    return static_cast<unsigned>(std::clamp<size_t>(items, 1, threads));
}

// Calls work(i) for every worker; the caller's thread does the first and whatever no thread can be
// started for. Rethrows the exception of the lowest worker that threw.
template <class Work>
void for_each_worker(unsigned workers, Work work) {
    std::vector<std::exception_ptr> errors(workers);
    const auto guarded = [&](unsigned i) {
        try {
            work(i);
        } catch (...) {
            errors[i] = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(workers);
    unsigned started = 1;
    try {
        for (; started < workers; ++started) threads.emplace_back(guarded, started);
    } catch (const std::system_error&) {
        // The system has no more threads: the rest is done here.
    }
    guarded(0);
    for (unsigned i = started; i < workers; ++i) guarded(i);
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : errors) {
        if (error) std::rethrow_exception(error);
    }
}

}  // namespace planezip
