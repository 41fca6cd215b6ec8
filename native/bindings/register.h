// The parts of the module that register themselves.
#pragma once

#include <nanobind/nanobind.h>

void register_trial(nanobind::module_& m);
