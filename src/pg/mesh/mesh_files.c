#include "pg/mesh/rb_meshing.h"
PG_FUNCTION_INFO_V1(redblue_mesh_vtu);
Datum
redblue_mesh_vtu(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}
PG_FUNCTION_INFO_V1(redblue_mesh_gmsh);
Datum
redblue_mesh_gmsh(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}
