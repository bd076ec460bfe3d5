// How programs reach weir by OpenAI's protocol.
import type { Lang } from "../core/words";

export interface Example {
  name: string;
  title: string; // empty: in the page's language
  text: (base: string, token: string, lang: Lang) => string;
}

const ask = (lang: Lang) => (lang === "zh" ? "17 乘 23 是多少？" : "What is 17 * 23?");

export const examples: Example[] = [
  { name: "python", title: "Python", text: (base, token, lang) => `from openai import OpenAI

client = OpenAI(base_url="${base}", api_key="${token}")
answer = client.chat.completions.create(
    model="weir",
    messages=[{"role": "user", "content": "${ask(lang)}"}],
)
print(answer.choices[0].message.content)` },
  { name: "node", title: "JavaScript", text: (base, token, lang) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${base}", apiKey: "${token}" });
const answer = await client.chat.completions.create({
  model: "weir",
  messages: [{ role: "user", content: "${ask(lang)}" }],
});
console.log(answer.choices[0].message.content);` },
  { name: "curl", title: "curl", text: (base, token, lang) => `curl -s ${base}/chat/completions \\
  -H "Authorization: Bearer ${token}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "weir", "messages": [{"role": "user", "content": "${ask(lang)}"}]}'` },
  { name: "shell", title: "", text: (base, token) => `OPENAI_BASE_URL=${base}\nOPENAI_API_KEY=${token}` },
];
