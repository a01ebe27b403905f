#pragma once

#include <memory>
#include <string>

#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim {

/// Reads `table` of the database at `url` (a libpq connection string or URI; libpq's environment
/// variables and password file apply). Nothing is connected here. The schema `seriatim` must have
/// been installed (`seriatim init`); sessions say so when it was not.
[[nodiscard]] std::shared_ptr<Source> postgres_source(std::string url, SourceConfig table = {});

/// Installs or upgrades schema `seriatim`, under a lock; what is installed already stays.
void install_schema(const std::string& url);

}  // namespace seriatim
