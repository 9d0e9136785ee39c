# Draws the pictures of doc/recipes.md with QGIS: their layers and colors.
from collections import Counter

from qgis.core import (QgsDropShadowEffect, QgsEffectStack, QgsDrawSourceEffect, QgsFillSymbol, QgsLineSymbol, QgsMapRendererParallelJob, QgsMapSettings,
                       QgsMarkerSymbol, QgsRectangle, QgsRuleBasedRenderer, QgsSingleSymbolRenderer, QgsWkbTypes)
from qgis.PyQt.QtCore import QSize, Qt
from qgis.PyQt.QtGui import QColor, QImage

GREY, RED, YELLOW, BLUE, PAPER = '#b4b8bd', '#d7191c', '#f5c518', '#2b6cb0', '#f4f3ef'
SYMBOLS = {QgsWkbTypes.PointGeometry: QgsMarkerSymbol, QgsWkbTypes.LineGeometry: QgsLineSymbol, QgsWkbTypes.PolygonGeometry: QgsFillSymbol}


def fill(colour, edge, width=0.15):
    return {'color': colour, 'outline_color': edge, 'outline_width': str(width), 'joinstyle': 'round'}


def line(colour, width):
    return {'line_color': colour, 'line_width': str(width), 'capstyle': 'round', 'joinstyle': 'round'}


# 'rules': pairs of an expression and a symbol; 'colours': the minimum number of pixels of each color
RECIPES = {
    'clash': {
        'size': (1000, 700),
        'layers': [
            ('building_map', {'shadow': True, 'rules': [('not crosses', fill(GREY, '#8a8f95')), ('crosses', fill(YELLOW, '#a07f00'))]}),
            ('pipeline', {'rules': [('', line(BLUE, 0.8))]}),
            ('contact', {'rules': [('', line(RED, 0.6))]}),
        ],
        'colours': {GREY: 20000, YELLOW: 1000, RED: 500, BLUE: 500},
    },
    'section': {
        'size': (1000, 500),
        'layers': [
            ('section_hole', {'rules': [('', line(GREY, 0.5))]}),
            ('section_ore', {'rules': [('', line(RED, 0.7))]}),
            ('ore_stretch', {'rules': [('', line(YELLOW, 1.2))]}),
        ],
        'colours': {GREY: 2000, YELLOW: 2000, RED: 1000},
    },
    'horizon': {
        'size': (800, 560),
        'layers': [
            ('horizon_map', {'rules': [('not cut', fill(GREY, '#8a8f95', 0.1)), ('cut', fill(YELLOW, '#a07f00', 0.1))]}),
            ('self_cut', {'rules': [('', line(RED, 0.8))]}),
        ],
        'colours': {GREY: 20000, YELLOW: 1000, RED: 200},
    },
}
# Pale ground below the buildings
GROUND = [("type = '%s'" % kind, fill(colour, colour)) for kind, colour in
          (('WaterBody', '#cfe0ea'), ('PlantCover', '#dbe5d0'), ('Road', '#dedbd4'))] + [('ELSE', fill('#ebe9e3', '#ebe9e3'))]
TOWN = {
    'town': {
        'size': (1000, 640),
        'frame': 'town_building',
        'layers': [
            ('town_ground', {'rules': GROUND}),
            ('town_building', {'shadow': True, 'rules': [('not met', fill(GREY, GREY)), ('met', fill(YELLOW, YELLOW))]}),
            ('town_line', {'rules': [('', fill(BLUE, BLUE))]}),
            ('town_contact', {'rules': [('', line(RED, 0.3))]}),
        ],
        'colours': {GREY: 20000, YELLOW: 1000, RED: 1000, BLUE: 500},
    },
}
PICTURES = {'recipes': RECIPES, 'town': TOWN}


def renderer(layer, style):
    make = SYMBOLS[layer.geometryType()]
    root = QgsRuleBasedRenderer.Rule(None)
    for expression, properties in style['rules']:
        root.appendChild(QgsRuleBasedRenderer.Rule(make.createSimple(properties), filterExp=expression))
    made = QgsRuleBasedRenderer(root)
    if style.get('shadow'):
        shadow, stack = QgsDropShadowEffect(), QgsEffectStack()
        shadow.setOffsetDistance(1.2)
        shadow.setOffsetAngle(135)
        shadow.setBlurLevel(1.6)
        shadow.setOpacity(0.45)
        stack.appendEffect(shadow)
        stack.appendEffect(QgsDrawSourceEffect())
        made.setPaintEffect(stack)
    return made


def draw(layers, settings):
    """Draws layers with their styles, bottom layer first; a layer whose style is None keeps the style that QGIS chose."""
    extent = QgsRectangle()
    for layer, style in layers:
        if style:
            layer.setRenderer(renderer(layer, style))
        if layer.name() == settings.get('frame', layer.name()):
            extent.combineExtentWith(layer.extent())
    extent.scale(1.03)
    work = job([layer for layer, _ in layers], {'extent': extent, **settings})
    work.start()
    work.waitForFinished()
    return work.renderedImage()


def job(layers, settings):
    map_settings = QgsMapSettings()
    map_settings.setLayers(layers[::-1])
    map_settings.setDestinationCrs(layers[0].crs())
    map_settings.setExtent(settings['extent'])
    map_settings.setOutputSize(QSize(*settings['size']))
    map_settings.setOutputDpi(110)
    map_settings.setBackgroundColor(QColor(PAPER))
    return QgsMapRendererParallelJob(map_settings)


def small(image):
    """Reduces a picture to 256 colors for a page, which halves its size."""
    image = image.convertToFormat(QImage.Format_RGB32)
    # Keep the most frequent one of nearly equal colors.
    table = {}
    for colour, _ in Counter(pixels(image)).most_common():
        table.setdefault(colour & 0xf0f0f0, colour)
        if len(table) == 256:
            break
    return image.convertToFormat(QImage.Format_Indexed8, list(table.values()), Qt.ThresholdDither | Qt.AvoidDither)


def pixels(image):
    bits = image.constBits()
    bits.setsize(image.sizeInBytes())
    return memoryview(bytes(bits)).cast('I')


def count(image, colour):
    """Counts the pixels of exactly this color."""
    wanted = QColor(colour).rgb()
    return sum(pixel == wanted for pixel in pixels(image.convertToFormat(QImage.Format_RGB32)))
