#pragma once

#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

ActResult redrive_parked(Connection& connection, const Target& target, const ParkedChoice& choice,
                         const Actor& actor);
ActResult discard_parked(Connection& connection, const Target& target, const ParkedChoice& choice,
                         const Actor& actor);

}  // namespace seriatim::postgres
