// What Grafana's panels have as options of fields. Its packages hold the mechanism (applyFieldOverrides); the lists are in its
// application, which is no package. An option that is not named here is refused, so that none is left out in silence.
import {
  FieldColorModeId,
  FieldConfigOptionsRegistry,
  displayNameOverrideProcessor,
  identityOverrideProcessor,
  numberOverrideProcessor,
  thresholdsOverrideProcessor,
  unitOverrideProcessor,
  valueMappingsOverrideProcessor,
} from "@grafana/data";
import { defaultsDeep } from "lodash";

const STANDARD = {
  color: identityOverrideProcessor,
  decimals: numberOverrideProcessor,
  displayName: displayNameOverrideProcessor,
  links: identityOverrideProcessor,
  mappings: valueMappingsOverrideProcessor,
  max: numberOverrideProcessor,
  min: numberOverrideProcessor,
  noValue: identityOverrideProcessor,
  thresholds: thresholdsOverrideProcessor,
  unit: unitOverrideProcessor,
};

const DRAWING = {
  axisBorderShow: false,
  axisCenteredZero: false,
  axisColorMode: "text",
  axisLabel: "",
  axisPlacement: "auto",
  axisSoftMax: undefined,
  axisSoftMin: undefined,
  barAlignment: 0,
  barWidthFactor: 0.6,
  drawStyle: "line",
  fillOpacity: 0,
  gradientMode: "none",
  hideFrom: { legend: false, tooltip: false, viz: false },
  lineInterpolation: "linear",
  lineStyle: { fill: "solid" },
  lineWidth: 1,
  pointSize: 5,
  scaleDistribution: { type: "linear" },
  showPoints: "auto",
  spanNulls: false,
  stacking: { group: "A", mode: "none" },
  thresholdsStyle: { mode: "off" },
};

// The options of each kind's own, with the values that its panel begins with.
const CUSTOM = {
  stat: {},
  table: { align: "auto", cellOptions: { type: "auto" }, hideFrom: { legend: false, tooltip: false, viz: false }, inspect: false, width: null },
  timeseries: DRAWING,
  trend: DRAWING,
  xychart: { ...DRAWING, fillOpacity: 50, pointSize: { fixed: 5 }, show: "points" },
};

const byPalette = new Set(["timeseries", "trend", "xychart"]);

export function fieldOptions({ type, fieldConfig }) {
  const custom = CUSTOM[type];
  const items = Object.entries(STANDARD).map(([name, process]) => item(name, process, false));
  items.push(...Object.keys(custom).map((name) => item(name, identityOverrideProcessor, true)));
  const known = new Set(items.map((each) => each.id));
  const set = [
    ...Object.keys(fieldConfig.defaults).filter((name) => name !== "custom"),
    ...Object.keys(fieldConfig.defaults.custom ?? {}).map((name) => `custom.${name}`),
    ...fieldConfig.overrides.flatMap(({ properties }) => properties.map(({ id }) => id)),
  ];
  const strange = set.filter((name) => !known.has(name));
  if (strange.length) throw new Error(`options of fields that are not known here: ${strange.join(", ")}`);
  const mode = byPalette.has(type) ? FieldColorModeId.PaletteClassic : FieldColorModeId.Thresholds;
  const defaults = defaultsDeep({}, fieldConfig.defaults, { color: { mode }, custom, mappings: [] });
  for (const { value: thresholds } of thresholdsOf(fieldConfig, defaults)) {
    if (thresholds.steps[0].value === null) thresholds.steps[0].value = -Infinity; // JSON has no other way to say it
  }
  return { config: { defaults, overrides: fieldConfig.overrides }, registry: new FieldConfigOptionsRegistry(() => items) };
}

function thresholdsOf({ overrides }, defaults) {
  const set = overrides.flatMap(({ properties }) => properties).filter(({ id }) => id === "thresholds");
  return defaults.thresholds ? [{ value: defaults.thresholds }, ...set] : set;
}

function item(name, process, isCustom) {
  return { id: isCustom ? `custom.${name}` : name, path: name, name, isCustom, process, settings: {}, shouldApply: () => true };
}
