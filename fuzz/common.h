// What both fuzz targets need: an input cut into options and bytes, memory of exact sizes, and levels.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../native/src/level.h"
#include "planezip.h"

#define REQUIRE(condition)                                                     \
    do {                                                                       \
        if (!(condition)) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                      \
        }                                                                      \
    } while (0)

// Memory of exactly so many bytes, at an odd address: AddressSanitizer sees one byte too many.
class Exact {
public:
    explicit Exact(size_t size) : memory_(new uint8_t[size + 1]), size_(size) {}
    Exact(const uint8_t* from, size_t size) : Exact(size) {
        if (size) std::memcpy(data(), from, size);
    }
    uint8_t* data() { return memory_.get() + 1; }
    size_t size() const { return size_; }

private:
    std::unique_ptr<uint8_t[]> memory_;
    size_t size_;
};

// The first bytes of an input choose codec, symbol width and threads.
struct Options {
    planezip::Coding coding;
    unsigned threads;
};

constexpr size_t kOptionBytes = 2;

inline Options options(const uint8_t* input) {
    const auto codec = static_cast<planezip::Codec>(input[0] % planezip::kCodecs);
    return {{codec, input[1] & 1 ? 16u : 32u}, 1u + (input[1] >> 1) % 3};
}

// The levels of this machine.
inline const std::vector<std::string>& levels() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        std::string left = planezip::level_names();
        for (size_t comma; (comma = left.find(", ")) != std::string::npos;) {
            found.push_back(left.substr(0, comma));
            left.erase(0, comma + 2);
        }
        found.push_back(left);
        return found;
    }();
    return names;
}
