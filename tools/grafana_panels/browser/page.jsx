// Draws one dashboard: `draw(dashboard)` of what tools/grafana_panels hands over.
import "uplot/dist/uPlot.min.css";
import {
  ThemeContext,
  applyFieldOverrides,
  createDataFrame,
  createTheme,
  dateTime,
  standardTransformers,
  standardTransformersRegistry,
  transformDataFrame,
} from "@grafana/data";
import { initPluginTranslations } from "@grafana/i18n";
import { GlobalStyles, PanelChrome } from "@grafana/ui";
import { uniqBy } from "lodash";
import { Component } from "react";
import { createRoot } from "react-dom/client";
import { lastValueFrom } from "rxjs";
import { fieldOptions } from "./fields.js";
import { KINDS } from "./panels.jsx";

const ROW = 30; // pixels of a unit of height in Grafana's grid
const GAP = 8;
const COLUMNS = 24;
const NO_DATA = "No data";

standardTransformersRegistry.setInit(() =>
  uniqBy(Object.values(standardTransformers), "id").map((each) => ({
    id: each.id,
    name: each.name,
    editor: () => null,
    transformation: async () => each,
  })),
);

let root = null;

// Shows the panels, and answers what was drawn: [{ id, kind, component, ours, points, problem }].
window.draw = async ({ mode, width, title, from, to, panels, values }) => {
  await initPluginTranslations("grafana");
  const theme = createTheme({ colors: { mode } });
  const timeRange = { from: dateTime(from), to: dateTime(to), raw: { from: "", to: "" } };
  const replaceVariables = (text) => text.replace(/\$\{?(\w+)\}?/g, (whole, name) => values[name] ?? whole);
  const made = await Promise.all(panels.map((panel) => prepare(panel, { theme, timeRange, replaceVariables })));
  document.body.style.margin = "0";
  document.body.style.background = theme.colors.background.canvas;
  const bottom = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  root?.unmount();
  root = createRoot(document.getElementById("dashboard"));
  await new Promise((resolve) => {
    root.render(
      <ThemeContext.Provider value={theme}>
        <GlobalStyles />
        <Drawn onDrawn={resolve}>
          <h1 style={{ ...theme.typography.h4, margin: `${GAP}px 16px` }}>{title}</h1>
          <div style={{ position: "relative", height: bottom * (ROW + GAP), margin: 16 }}>
            {made.map((each) => (
              <Placed key={each.panel.id} whole={width - 32} {...each} />
            ))}
          </div>
        </Drawn>
      </ThemeContext.Provider>,
    );
  });
  await document.fonts.ready;
  return made.map(({ panel, points, problem }) => {
    const { component = null, ours = null } = KINDS[panel.type] ?? {};
    const text = document.querySelector(`[data-panel="${panel.id}"] .failed`)?.textContent;
    return { id: panel.id, kind: panel.type, component, ours, points, problem: problem ?? text ?? null };
  });
};

// The panel with its frames as they are drawn: transformed, with options of fields, and how many values there are.
async function prepare(panel, { theme, timeRange, replaceVariables }) {
  const context = { panel, theme, timeRange, replaceVariables, frames: [], points: 0 };
  if (!KINDS[panel.type]) return { ...context, problem: `no component draws the kind ${panel.type}` };
  try {
    const steps = panel.transformations ?? [];
    const strange = steps.filter(({ id }) => !standardTransformersRegistry.getIfExists(id)).map(({ id }) => id);
    if (strange.length) return { ...context, problem: `no transformation ${strange.join(", ")} in @grafana/data` };
    const frames = panel.frames.map((frame) => createDataFrame(frame));
    const changed = await lastValueFrom(transformDataFrame(steps, frames, { interpolate: replaceVariables }));
    const { config, registry } = fieldOptions(panel);
    const data = applyFieldOverrides({ data: changed, fieldConfig: config, fieldConfigRegistry: registry, replaceVariables, theme, timeZone: "utc" });
    return { ...context, config, frames: data, points: valuesIn(data, timeRange) };
  } catch (error) {
    return { ...context, problem: String(error) };
  }
}

// Of fields other than the time: in the time shown, where there is one.
function valuesIn(frames, { from, to }) {
  let found = 0;
  for (const { fields, length } of frames) {
    const time = fields.find(({ type, name }) => type === "time" && name === "Time");
    const inside = (row) => !time || (time.values[row] >= from.valueOf() && time.values[row] <= to.valueOf());
    for (const field of fields.filter((each) => each !== time)) {
      for (let row = 0; row < length; row++) found += field.values[row] != null && inside(row) ? 1 : 0;
    }
  }
  return found;
}

function Placed({ panel, whole, problem, points, ...rest }) {
  const column = (whole + GAP) / COLUMNS;
  const { x, y, w, h } = panel.gridPos;
  const place = { position: "absolute", left: x * column, top: y * (ROW + GAP) };
  const { draw: Draw } = KINDS[panel.type] ?? {};
  return (
    <div data-panel={panel.id} style={place}>
      <PanelChrome title={panel.title} description={panel.description} width={w * column - GAP} height={h * (ROW + GAP) - GAP}>
        {(width, height) =>
          problem || !points ? (
            <div className={problem ? "failed" : "empty"}>{problem ?? NO_DATA}</div>
          ) : (
            <Caught>
              <Draw panel={panel} width={width} height={height} {...rest} />
            </Caught>
          )
        }
      </PanelChrome>
    </div>
  );
}

class Caught extends Component {
  state = {};
  static getDerivedStateFromError(error) {
    return { error };
  }
  render() {
    return this.state.error ? <div className="failed">{String(this.state.error)}</div> : this.props.children;
  }
}

class Drawn extends Component {
  componentDidMount() {
    setTimeout(this.props.onDrawn, 300); // uPlot and the tables measure themselves after they are in the page
  }
  render() {
    return this.props.children;
  }
}
