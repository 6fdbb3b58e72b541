// Each kind of panel, drawn by Grafana's own components.
import { FieldMatcherID, FieldType, fieldMatchers, formattedValueToString, getFieldDisplayValues, getFieldSeriesColor } from "@grafana/data";
import { AxisPlacement, ScaleDirection, ScaleOrientation } from "@grafana/schema";
import { BigValue, GraphNG, PlotLegend, TimeSeries, UPlotConfigBuilder, VizRepeater } from "@grafana/ui";
import { TableNG } from "@grafana/ui/unstable";

// What draws a kind. Where Grafana has no component for the whole of it, `ours` says what is put together here.
export const KINDS = {
  stat: { draw: Stat, component: "BigValue" },
  table: { draw: Rows, component: "TableNG" },
  timeseries: { draw: Lines, component: "TimeSeries" },
  trend: { draw: Trend, component: "TimeSeries" },
  xychart: { draw: Points, component: "GraphNG", ours: "which fields are drawn, and the axis along them" },
};

function Stat({ panel, frames, config, theme, width, height, replaceVariables }) {
  const { options } = panel;
  const values = () =>
    getFieldDisplayValues({
      fieldConfig: config,
      reduceOptions: options.reduceOptions,
      replaceVariables,
      theme,
      data: frames,
      sparkline: options.graphMode !== "none",
      timeZone: "utc",
    });
  return (
    <VizRepeater
      getValues={values}
      source={frames}
      renderCounter={0}
      width={width}
      height={height}
      orientation={options.orientation}
      autoGrid
      renderValue={({ value, width, height, count }) => (
        <BigValue
          value={value.display}
          count={count}
          sparkline={value.sparkline}
          colorMode={options.colorMode}
          graphMode={options.graphMode}
          justifyMode={options.justifyMode}
          textMode={options.textMode}
          disableWideLayout={!options.wideLayout}
          width={width}
          height={height}
          theme={theme}
        />
      )}
    />
  );
}

function Rows({ panel, frames, config, width, height, timeRange }) {
  const { options } = panel;
  return (
    <TableNG
      data={frames[options.frameIndex ?? 0]}
      width={width}
      height={height}
      noHeader={!options.showHeader}
      cellHeight={options.cellHeight}
      showTypeIcons={options.showTypeIcons}
      fieldConfig={config}
      timeRange={timeRange}
      enableVirtualization={false}
      resizable
      structureRev={1}
    />
  );
}

function Lines({ panel, frames, width, height, timeRange }) {
  return (
    <TimeSeries
      frames={frames}
      structureRev={1}
      timeRange={timeRange}
      timeZone="utc"
      width={width}
      height={height}
      legend={panel.options.legend}
      options={panel.options}
    />
  );
}

const numbers = fieldMatchers.get(FieldMatcherID.byTypes).get(new Set([FieldType.number]));

function alongNamed(name) {
  return {
    fields: { x: fieldMatchers.get(FieldMatcherID.byName).get(name), y: numbers },
    preparePlotFrame: ([frame]) => {
      const along = frame.fields.find((field) => field.name === name);
      const others = frame.fields.filter((field) => field !== along && field.type === FieldType.number);
      return { ...frame, fields: [along, ...others].map((field) => ({ ...field, state: { ...field.state, origin: originOf(frame, field) } })) };
    },
  };
}

function originOf(frame, field) {
  return { frameIndex: 0, fieldIndex: frame.fields.indexOf(field) };
}

function Trend({ panel, frames, width, height, timeRange }) {
  return (
    <TimeSeries
      {...alongNamed(panel.options.xField)}
      frames={frames}
      structureRev={1}
      timeRange={timeRange}
      timeZone="utc"
      width={width}
      height={height}
      legend={panel.options.legend}
      options={panel.options}
    />
  );
}

// As the XY chart does with "auto": the first number along the axis, every other one a series.
function Points({ panel, frames, theme, width, height, timeRange }) {
  const along = frames[0].fields.find((field) => field.type === FieldType.number);
  return (
    <GraphNG
      {...alongNamed(along.name)}
      frames={frames}
      structureRev={1}
      theme={theme}
      timeRange={timeRange}
      timeZone="utc"
      width={width}
      height={height}
      legend={panel.options.legend}
      prepConfig={(frame) => plotOf(frame, theme)}
      renderLegend={(config) => (panel.options.legend.showLegend ? <PlotLegend data={frames} config={config} {...panel.options.legend} /> : null)}
    />
  );
}

function plotOf(frame, theme) {
  const builder = new UPlotConfigBuilder("utc");
  builder.setPadding([8, 16, 0, 0]); // for half of the last label along the axis
  builder.setPrepData(([{ fields }]) => fields.map(({ values }) => values));
  const [along, ...series] = frame.fields;
  const scale = (field) => ({
    distribution: field.config.custom.scaleDistribution.type,
    log: field.config.custom.scaleDistribution.log,
  });
  builder.addScale({ scaleKey: "x", orientation: ScaleOrientation.Horizontal, direction: ScaleDirection.Right, ...scale(along) });
  builder.addAxis({ scaleKey: "x", placement: AxisPlacement.Bottom, theme, distr: scale(along).distribution, ...written(along) });
  builder.addScale({ scaleKey: "y", orientation: ScaleOrientation.Vertical, direction: ScaleDirection.Up, ...scale(series[0]) });
  builder.addAxis({ scaleKey: "y", placement: AxisPlacement.Left, theme, ...written(series[0]) });
  series.forEach((field, place) => {
    const { custom } = field.config;
    builder.addSeries({
      scaleKey: "y",
      theme,
      drawStyle: "line",
      lineColor: getFieldSeriesColor(field, theme).color,
      lineInterpolation: custom.lineInterpolation,
      lineWidth: custom.lineWidth,
      pointColor: getFieldSeriesColor(field, theme).color,
      pointSize: custom.pointSize.fixed,
      showPoints: custom.show === "lines" ? "never" : "always",
      spanNulls: true,
      fillOpacity: 0,
      dataFrameFieldIndex: field.state.origin,
    });
  });
  return builder;
}

function written(field) {
  return { label: field.config.custom.axisLabel, formatValue: (value, decimals) => formattedValueToString(field.display(value, decimals)) };
}
