// The page as everybody has it.
import { start } from "./start";
import { views } from "./views";

start(views);
