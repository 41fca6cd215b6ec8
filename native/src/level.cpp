#include "level.h"

#ifdef PLANEZIP_X86
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdlib>
#include <string>

namespace planezip {
namespace {

#ifdef PLANEZIP_X86
// Not all compilers' __builtin_cpu_supports() know it.
bool has_lzcnt() {
    unsigned a, b, c = 0, d;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}
#endif

struct Candidate {
    const Level* level;
    bool runs;  // on this processor
};

// By speed, the fastest first.
const Candidate* candidates(size_t& count) {
#ifdef PLANEZIP_X86
    static const bool avx2 = [] {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
               has_lzcnt();
    }();
    static const bool avx512 = [] {
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
               __builtin_cpu_supports("avx512vbmi2") &&
               __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("gfni");
    }();
    static const Candidate all[] = {
        {&avx512_level, avx512}, {&avx2_level, avx2}, {&portable_level, true}};
#else
    static const Candidate all[] = {{&portable_level, true}};
#endif
    count = sizeof all / sizeof *all;
    return all;
}

const Level* find(const std::string& name) {
    size_t count;
    const Candidate* all = candidates(count);
    for (size_t i = 0; i < count; ++i) {
        if (all[i].runs && (name.empty() || name == all[i].level->name)) return all[i].level;
    }
    return nullptr;
}

std::atomic<const Level*> in_use{nullptr};

// In quotes on one line, whatever bytes it has.
std::string quoted(const std::string& name) {
    static const char digits[] = "0123456789abcdef";
    std::string text = "'";
    for (const unsigned char c : name) {
        if (c >= ' ' && c <= '~') {
            text += static_cast<char>(c);
        } else {
            text += {'\\', 'x', digits[c >> 4], digits[c & 15]};
        }
    }
    return text + "'";
}

}  // namespace

std::string level_names() {
    size_t count;
    const Candidate* all = candidates(count);
    std::string names;
    for (size_t i = 0; i < count; ++i) {
        if (all[i].runs) names += (names.empty() ? "" : ", ") + std::string(all[i].level->name);
    }
    return names;
}

void use_level(const std::string& name) {
    const Level* found = find(name);
    if (!found) throw UnusableLevel("no level " + quoted(name) + "; this machine has " + level_names());
    in_use.store(found, std::memory_order_release);
}

const Level& level() {
    const Level* found = in_use.load(std::memory_order_acquire);
    if (found) return *found;
    const char* forced = std::getenv("PLANEZIP_LEVEL");
    try {
        use_level(forced ? forced : "");
    } catch (const UnusableLevel& error) {
        throw UnusableLevel(std::string("PLANEZIP_LEVEL: ") + error.what());
    }
    return level();
}

std::string level_name() { return level().name; }

}  // namespace planezip
