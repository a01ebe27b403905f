#pragma once
#include "std.hpp"

#include <doctest/doctest.h>
