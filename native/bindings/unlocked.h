// Native work without the interpreter's lock, which other threads take meanwhile.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

// Lets go of the interpreter's lock until it is destroyed.
//
// The interpreter may be on its way out when the lock is asked for again, which happens to daemon
// threads. Before 3.14 it then ends the thread by unwinding its stack, through destructors that
// nothing may be thrown from; that would end the process with an error. So the thread stays here
// instead, as it does in later versions: it holds nothing that the exit of the process waits for.
class Unlocked {
public:
    Unlocked() : thread_(PyEval_SaveThread()) {}
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    ~Unlocked() {
        try {
            PyEval_RestoreThread(thread_);
        } catch (...) {
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }

private:
    PyThreadState* const thread_;
};
