// What a notebook loads.

import { comeBack } from "./again.js";
import { openLab } from "./lab.js";

export default { initialize: comeBack, render: openLab };
