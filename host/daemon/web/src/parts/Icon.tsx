// The icons of the rail: strokes of one weight, each beside a word.
const paths: Record<string, string> = {
  ask: "M4 5h16v11H9l-5 4z",
  results: "M5 4h14v16H5zM8 8h8M8 12h8M8 16h5",
  tools: "M14 5a4 4 0 0 0-5 5l-6 6 3 3 6-6a4 4 0 0 0 5-5l-3 2-2-2z",
  plugins: "M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0zM12 18v3",
  scripts: "M8 7l-5 5 5 5M16 7l5 5-5 5M14 4l-4 16",
  traces: "M3 6h9M8 12h9M13 18h8",
  clients: "M4 8h14l-4-4M20 16H6l4 4",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 4.5v5M8 14.5v5",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  account: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21a8 8 0 0 1 16 0",
  language: "M4 6h9M8.5 4v2M11 6c-1 4-4 7-7 8M6 9c1 3 4 5 6 5M13 20l4-9 4 9M14.5 17h5",
};

export function Icon({ name }: { name: string }) {
  return <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d={paths[name]} /></svg>;
}
