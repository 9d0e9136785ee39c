# Tests the layers of doc/recipes.md in QGIS: each is valid through the postgres provider, has the
# key, type, SRID and extent that the server reports, and is drawn in the requested colors.  Then
# tests what doc/recipes.md states about views without a key, live views, SRIDs and types.
#
# Called by test/qgis/run, which sets PGHOST, PGPORT, PGUSER and PGDATABASE to the database in which
# the recipes, or the statements of the town, have run, and OUT to the folder of the pictures.
# Prints "ok" and "not ok" lines.
import os
import sys

os.environ.setdefault('QT_QPA_PLATFORM', 'offscreen')

from qgis.core import Qgis, QgsApplication, QgsWkbTypes

import draw
import qgis_layer
import traps
from qgis_layer import key_of, layer, ok, same, sql, tables

# ---- what each layer should be ----

# For each database, the key of each relation
LAYERS = {
    'recipes': {
        'clash': 'qid', 'building_map': 'gid', 'contact': 'qid', 'pipeline': 'id', 'ore_stretch': 'qid', 'section_hole': 'hole', 'section_ore': 'qid',
        'horizon_map': 'id', 'self_cut': 'a,b',
    },
    'town': {'town_building': 'gid', 'town_ground': 'gid', 'town_line': 'gid', 'town_contact': 'qid'},
}[os.environ['PGDATABASE']]


def declared(name):
    (kind, dimensions, srid), = sql("SELECT type, coord_dimension, srid FROM geometry_columns WHERE f_table_name = '%s'" % name)
    return kind + ('Z' if dimensions == 3 else ''), srid


def check_list():
    """Checks the layers that the Data Source Manager offers."""
    listed = {table.tableName(): table for table in tables()}
    for name, key in LAYERS.items():
        table = listed.get(name)
        if not table:
            ok(False, name + ' is listed')
            continue
        facts = [[QgsWkbTypes.displayString(column.wkbType).upper(), column.crs.postgisSrid()] for column in table.geometryColumnTypes()]
        same(facts, [list(declared(name))], name + ': listed with its type and SRID')
        ok(set(key.split(',')) <= set(table.primaryKeyColumns()), name + ': its key is among those offered', table.primaryKeyColumns())


def check_layer(name, key):
    made = layer(name, key)
    ok(made.isValid(), name + ' is a layer', made.error().message())
    if not made.isValid():
        return
    kind, srid = declared(name)
    (rows, least_x, least_y, most_x, most_y), = sql(
        "SELECT rows, ST_XMin(e), ST_YMin(e), ST_XMax(e), ST_YMax(e) FROM (SELECT count(geom) AS rows, ST_Extent(geom) AS e FROM %s) s" % name)
    same(key_of(made), key.split(','), name + ': its key')
    same(QgsWkbTypes.displayString(made.wkbType()).upper(), kind, name + ': its type')
    same(made.crs().authid(), 'EPSG:%d' % srid if srid else '', name + ': its SRID')
    exact = layer(name, key, estimated=False).extent()
    same([exact.xMinimum(), exact.yMinimum(), exact.xMaximum(), exact.yMaximum()], [least_x, least_y, most_x, most_y], name + ': its extent')
    near = made.extent()
    near.grow(1e-6 * (abs(near.xMaximum()) + abs(near.yMaximum())))
    ok(near.contains(exact), name + ': the estimated extent holds all')
    features = list(made.getFeatures())
    same(sum(f.hasGeometry() for f in features), rows, name + ': all rows come')
    # A feature can be found by its key.
    same(made.getFeature(features[-1].id()).attributes(), features[-1].attributes(), name + ': a row is found by its key')


app = QgsApplication([], False)
app.initQgis()

check_list()
for name, key in LAYERS.items():
    check_layer(name, key)
for picture, settings in draw.PICTURES[os.environ['PGDATABASE']].items():
    image = draw.draw([(layer(table, LAYERS[table]), style) for table, style in settings['layers']], settings)
    path = os.path.join(os.environ['OUT'], picture + '.png')
    ok(draw.small(image).save(path, 'PNG', 0), picture + '.png is written')
    for colour, least in settings['colours'].items():
        n = draw.count(image, colour)
        ok(n >= least, '%s.png has %s' % (picture, colour), '%d pixels of it, %d at least were expected' % (n, least))
# Other versions may behave differently.
if os.environ['PGDATABASE'] == 'recipes' and Qgis.QGIS_VERSION.startswith('3.22.'):
    traps.check()
elif os.environ['PGDATABASE'] == 'recipes':
    ok(True, '# skip the table of doc/recipes.md is of QGIS 3.22, here is ' + Qgis.QGIS_VERSION)
app.exitQgis()
print('1..%d' % qgis_layer.tests)
sys.exit(qgis_layer.failed > 0)
