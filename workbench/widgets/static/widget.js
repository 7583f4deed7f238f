// What a notebook loads.

import { openLab } from "./lab.js";

export default { render: openLab };
