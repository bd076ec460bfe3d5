import { Client } from "./client";

/* class Hidden {} */
export interface Options { url: string }

export class App extends Base {
  private client: Client;

  constructor(o: Options) {
    this.client = new Client(o);
  }

  async start(port: number): Promise<void> {
    if (port > 0) {
      await this.client.connect();
    }
  }
}

export const DEFAULT_URL = "http://localhost";
export const render = (o: Options) => o.url;
function helper() { return 1 }
export default function run() { return new App({ url: DEFAULT_URL }) }
type Mode = "fast" | "slow";
