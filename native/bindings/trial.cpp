// Registers Trial with Python; src/planezip/_native.pyi types it.
#include "trial.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "register.h"

namespace nb = nanobind;
using namespace planezip;

namespace {

template <class Number>
using Array = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number>
std::vector<Number> copy(const nb::dict& arrays, const char* name) {
    const auto array = nb::cast<Array<Number>>(arrays[name], false);
    return {array.data(), array.data() + array.size()};
}

Iteration iteration(const nb::dict& arrays) {
    const auto indices = [&](const char* name) { return copy<Index>(arrays, name); };
    Iteration it;
    it.seconds = copy<double>(arrays, "seconds");
    it.allocated_bytes = copy<int64_t>(arrays, "allocated_bytes");
    it.freed_bytes = copy<int64_t>(arrays, "freed_bytes");
    it.reads_begin = indices("reads_begin");
    it.writes_begin = indices("writes_begin");
    it.backward_start = nb::cast<Index>(arrays["backward_start"]);
    it.batch_bytes = nb::cast<int64_t>(arrays["batch_bytes"]);
    it.read_storage = indices("read_storage");
    it.read_producer = indices("read_producer");
    it.read_final = copy<uint8_t>(arrays, "read_final");
    it.write_storage = indices("write_storage");
    it.joiners_begin = indices("joiners_begin");
    it.joiner = indices("joiner");
    it.bytes = copy<int64_t>(arrays, "bytes");
    it.last_touch = indices("last_touch");
    it.candidate_of = indices("candidate_of");
    it.storage = indices("storage");
    it.ready = indices("ready");
    it.last_forward_use = indices("last_forward_use");
    it.first_backward_use = indices("first_backward_use");
    it.last_backward_use = indices("last_backward_use");
    it.final_writer = indices("final_writer");
    return it;
}

nb::tuple run(Trial& trial, const Array<uint8_t>& actions, const Array<uint8_t>& stays,
              const Array<Index>& early, const Array<Index>& delays, const Array<double>& out_s,
              const Array<double>& in_s, const Array<double>& encode_s,
              const Array<double>& decode_s, const Array<int64_t>& resident_bytes,
              int64_t budget_bytes) {
    const size_t count = trial.candidates();
    for (const size_t size : {actions.size(), stays.size(), early.size(), delays.size(),
                              out_s.size(), in_s.size(), encode_s.size(), decode_s.size(),
                              resident_bytes.size()}) {
        if (size != count) throw nb::value_error("every candidate has one decision");
    }
    const Outcome o = trial.run({actions.data(), stays.data(), early.data(), delays.data(),
                                 out_s.data(), in_s.data(), encode_s.data(), decode_s.data(),
                                 resident_bytes.data(), budget_bytes});
    return nb::make_tuple(o.duration_s, o.recompute_s, o.stall_s, o.peak_bytes, o.excess_bytes);
}

}  // namespace

void register_trial(nb::module_& m) {
    nb::class_<Trial>(m, "Trial")
        .def("__init__",
             [](Trial* self, const nb::dict& arrays) { new (self) Trial(iteration(arrays)); },
             nb::arg("arrays"))
        .def("run", run, nb::arg("actions").noconvert(), nb::arg("stays").noconvert(),
             nb::arg("early").noconvert(), nb::arg("delays").noconvert(),
             nb::arg("out_s").noconvert(), nb::arg("in_s").noconvert(),
             nb::arg("encode_s").noconvert(), nb::arg("decode_s").noconvert(),
             nb::arg("resident_bytes").noconvert(), nb::arg("budget_bytes"));
}
