// weather tells the weather of a place, by two requests to open-meteo.com: one finds the
// place, the other knows its weather. Nothing is installed or built: weir runs this file.

// What the codes of the World Meteorological Organization mean, from each number on.
const SKY = [
  [0, "clear", "晴"], [1, "mostly clear", "大致晴朗"], [2, "partly cloudy", "局部多云"], [3, "overcast", "阴"],
  [45, "fog", "雾"], [51, "drizzle", "毛毛雨"], [61, "rain", "雨"], [71, "snow", "雪"],
  [80, "showers", "阵雨"], [85, "snow showers", "阵雪"], [95, "thunderstorm", "雷暴"],
];

export async function weather(args, c) {
  const place = find(args.place, c);
  const days = c.argInt("days", 3);
  const w = get(c, "https://api.open-meteo.com/v1/forecast", {
    latitude: place.latitude,
    longitude: place.longitude,
    current: "temperature_2m,weather_code,wind_speed_10m,relative_humidity_2m",
    daily: "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum",
    forecast_days: days,
    timezone: "auto",
  });
  const now = w.current;
  if (!now || !w.daily) throw c.fail("failed", "Try a town nearby.", `Open-Meteo has no weather for ${place.name}.`);
  const lines = [
    `# ${place.name}, ${place.country ?? ""}`,
    `${now.time.replace("T", " ")}: ${sky(now.weather_code, c)}, ${now.temperature_2m} °C, ` +
      c.say(`wind ${now.wind_speed_10m} km/h, humidity ${now.relative_humidity_2m} %`, `风速 ${now.wind_speed_10m} km/h，湿度 ${now.relative_humidity_2m}%`),
    "",
    ...w.daily.time.map((day, i) => {
      const d = w.daily;
      const rain = d.precipitation_sum[i] > 0 ? `, ${d.precipitation_sum[i]} mm` : "";
      return `${day}: ${sky(d.weather_code[i], c)}, ${d.temperature_2m_min[i]} – ${d.temperature_2m_max[i]} °C${rain}`;
    }),
  ];
  return { text: lines.join("\n"), sources: [{ title: "Open-Meteo", url: "https://open-meteo.com/" }] };
}

// find picks the place that fits best: with "Paris, US" the first one in that country.
function find(name, c) {
  const [town, country] = name.split(/[,，]/).map((s) => s.trim());
  const language = c.say("en", "zh");
  const results = get(c, "https://geocoding-api.open-meteo.com/v1/search", { name: town, count: 10, language }).results;
  const found = Array.isArray(results) ? results : [];
  const wanted = (p) => [p.country, p.country_code, p.admin1].some((s) => s?.toLowerCase() === country.toLowerCase());
  const place = country ? found.find(wanted) : found[0];
  if (place) return place;
  const others = [...new Set(found.map((p) => `${p.name}, ${p.country}`))].slice(0, 5).join("; ");
  throw c.fail("failed", others ? `Known are: ${others}.` : "Give the name of a larger town nearby.", `No place called "${name}" was found.`);
}

function get(c, address, query) {
  const url = address + "?" + Object.entries(query).map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join("&");
  const r = c.http({ url });
  if (r.status === 429) throw c.fail("rate_limited", "Try again in a minute.", "Open-Meteo wants a pause.");
  if (r.status !== 200) throw c.fail("failed", "Try again later.", `Open-Meteo answered with status ${r.status}.`);
  try {
    const answer = r.json();
    if (answer !== null && typeof answer === "object") return answer;
  } catch {}
  throw c.fail("failed", "Try again later.", "Open-Meteo's answer could not be read.");
}

function sky(code, c) {
  const [, en, zh] = SKY.findLast(([from]) => from <= code) ?? SKY[0];
  return c.say(en, zh);
}
