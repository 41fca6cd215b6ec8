// Bit arithmetic on words, and unaligned little-endian access.
//
// Everything that a level compiles is a template or in an unnamed namespace: levels are compiled
// for different processors, and the linker must not merge their functions.
#pragma once

#include <cstdint>
#include <cstring>

namespace planezip {
namespace {

template <class Word>
inline Word load(const void* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

template <class Word>
inline void store(void* to, Word word) {
    std::memcpy(to, &word, sizeof word);
}

// The lowest `count` bits set; count may be the width of the word.
template <class Word>
constexpr Word low_bits(unsigned count) {
    return count == 0 ? Word{0} : static_cast<Word>(~Word{0}) >> (8 * sizeof(Word) - count);
}

inline unsigned popcount(uint64_t x) {
#ifdef __POPCNT__
    return static_cast<unsigned>(__builtin_popcountll(x));
#else
    x -= (x >> 1) & 0x5555555555555555;
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return static_cast<unsigned>((x * 0x0101010101010101) >> 56);
#endif
}

// Index of the lowest set bit; x != 0.
inline unsigned lowest_bit(uint64_t x) { return static_cast<unsigned>(__builtin_ctzll(x)); }

// Index of the highest set bit; x != 0.
inline unsigned highest_bit(uint64_t x) { return 63 - static_cast<unsigned>(__builtin_clzll(x)); }

// Bits of a field that holds 0 ... count - 1; count >= 1.
constexpr unsigned field_bits(unsigned count) {
    return count == 1 ? 0 : 32 - static_cast<unsigned>(__builtin_clz(count - 1));
}

}  // namespace
}  // namespace planezip
