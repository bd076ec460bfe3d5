// The page with a view more, for tests and development: #/gallery. No entry of the rail leads
// there.
import { start } from "../start";
import { views } from "../views";
import { Gallery } from "./Gallery";

start([...views, { name: "gallery", View: Gallery, hidden: true }]);
