#pragma once
#include "std.hpp"

#include <pqxx/pqxx>
