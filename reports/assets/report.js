/* Draws the charts from the JSON beside them, in the colours of the reader's scheme; switches the language;
   saves the embedded result; follows the parts while scrolling; gets charts ready for paper. No address is asked. */
(function () {
  'use strict';
  var dark = matchMedia('(prefers-color-scheme: dark)');
  var config = {displayModeBar: false, responsive: false, showTips: false, doubleClick: false};
  var PAPER = {whole: 648, third: 204};
  var NARROW = 480;
  var AIR = 4; /* pixels beside a word */

  function lightTokens() {
    var found = {};
    Array.prototype.forEach.call(document.styleSheets, function (sheet) {
      Array.prototype.forEach.call(sheet.cssRules, function (rule) {
        if (rule.selectorText === ':root') {
          Array.prototype.forEach.call(rule.style, function (name) { found[name] = rule.style.getPropertyValue(name); });
        }
      });
    });
    return found;
  }

  function colors(onPaper) {
    var style = getComputedStyle(document.documentElement);
    var light = onPaper ? lightTokens() : {};
    function value(name) { return (light[name] || style.getPropertyValue(name)).trim(); }
    return function put(item) {
      if (typeof item === 'string') {
        if (item.indexOf('\n') !== -1) { item = item.replace(/\n/g, '<br>'); }
        return item.indexOf('var(--') === -1 ? item : item.replace(/var\((--[\w-]+)\)/g, function (_, name) { return value(name); });
      }
      if (Array.isArray(item)) { return item.map(put); }
      if (item && typeof item === 'object') {
        return Object.keys(item).reduce(function (made, key) { made[key] = put(item[key]); return made; }, {});
      }
      return item;
    };
  }

  function charts() { return document.querySelectorAll('.chart'); }

  function draw(onPaper) {
    if (!window.Plotly) { return; }
    var put = colors(onPaper);
    var font = getComputedStyle(document.body).fontFamily;
    charts().forEach(function (box) {
      var figure = put(JSON.parse(box.querySelector('script').textContent));
      var place = box.querySelector('.plot');
      figure.layout.font.family = font;
      if (onPaper) {
        figure.layout.width = box.closest('.g3') ? PAPER.third : PAPER.whole;
        figure.layout.autosize = false;
      } else if (place.clientWidth) {
        figure.layout.width = place.clientWidth;
      }
      if ((figure.layout.width || place.clientWidth) < NARROW) { narrow(figure); }
      window.Plotly.react(place, figure.data, figure.layout, config);
      fit(place, figure);
      place.dataset.drawn = 'yes';
    });
  }

  /* What only the drawn chart can tell: figures wider than their cells go, words beyond the right edge get room. */
  function fit(place, figure) {
    var size = place._fullLayout._size;
    var axis = figure.layout.xaxis;
    var edge = place.querySelector('.main-svg').getBoundingClientRect();
    var words = Array.prototype.map.call(place.querySelectorAll('.annotation-text, .bartext-outside'), function (word) { return word.getBoundingClientRect(); });
    if (figure.data[0] && figure.data[0].type === 'heatmap') {
      var cell = size.w / figure.data[0].x.length;
      if (words.some(function (word) { return word.width > cell - AIR; })) { window.Plotly.relayout(place, {annotations: []}); }
    } else if (axis && axis.range) {
      var more = Math.max.apply(null, [1].concat(words.map(function (word) {
        var begins = word.left - edge.left - size.l;
        return word.right > edge.right - AIR ? begins / Math.max(size.w / 8, edge.width - size.l - word.width - AIR) : 1;
      })));
      if (more > 1) {
        window.Plotly.relayout(place, {
          'xaxis.range': [axis.range[0], axis.range[0] + (axis.range[1] - axis.range[0]) * more],
          'xaxis.nticks': Math.max(2, Math.floor(size.w / 50)), 'xaxis.tickangle': 0
        });
      }
    }
  }

  function narrow(figure) {
    var layout = figure.layout;
    var axis = layout.xaxis;
    figure.data.forEach(function (trace) {
      if (trace.textposition === 'outside') { trace.text = trace.text.map(function (word) { return word.replace(/, |，/g, '$&<br>'); }); }
    });
    layout.annotations = (layout.annotations || []).filter(function (note) { return note.name !== 'wide'; });
    function half(list) { return list.filter(function (_, index) { return index % 2 === 0; }); }
    if (axis && axis.tickvals && axis.tickvals.length > 5) { axis.tickvals = half(axis.tickvals); axis.ticktext = half(axis.ticktext); }
    if (axis && axis.type === 'category') { axis.nticks = 6; }
  }

  function clear() {
    if (window.Plotly) { charts().forEach(function (box) { window.Plotly.purge(box.querySelector('.plot')); }); }
  }

  function showLanguage(lang) {
    var page = document.getElementById('page');
    var other = document.getElementById('other');
    if (!other || page.lang === lang) { return; }
    clear();
    var shown = page.cloneNode(true);
    shown.querySelectorAll('.plot').forEach(function (place) { place.textContent = ''; });
    var next = other.content.firstElementChild;
    next.id = 'page';
    page.replaceWith(next);
    shown.id = 'page-kept';
    other.content.replaceChildren(shown);
    document.documentElement.lang = lang;
    document.title = next.dataset.title;
    ready();
    draw(false);
    next.querySelector('[data-lang="' + lang + '"]').focus();
  }

  function save() {
    var kept = document.getElementById('result');
    if (kept.type === 'application/json') { write(new Blob([kept.textContent], {type: 'application/json'})); return; }
    var bytes = Uint8Array.from(atob(kept.textContent), function (letter) { return letter.charCodeAt(0); });
    new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).blob().then(write);
  }

  function write(blob) {
    var link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = 'report.json';
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }

  function follow() {
    var links = document.querySelectorAll('.rail a');
    if (!window.IntersectionObserver || !links.length) { return; }
    var seen = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (entry.isIntersecting) {
          links.forEach(function (link) {
            if (link.hash === '#' + entry.target.id) { link.setAttribute('aria-current', 'true'); } else { link.removeAttribute('aria-current'); }
          });
        }
      });
    }, {rootMargin: '-10% 0px -80% 0px'});
    links.forEach(function (link) {
      var part = document.getElementById(link.hash.slice(1));
      if (part) { seen.observe(part); }
    });
  }

  function openTarget() {
    var target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === 'DETAILS') { target.open = true; }
  }

  function ready() {
    document.querySelectorAll('[data-lang]').forEach(function (button) {
      button.hidden = !document.getElementById('other') && button.getAttribute('aria-pressed') !== 'true';
      button.addEventListener('click', function () { showLanguage(button.dataset.lang); });
    });
    document.querySelectorAll('[data-save]').forEach(function (button) { button.addEventListener('click', save); });
    document.querySelectorAll('[data-print]').forEach(function (button) { button.addEventListener('click', function () { window.print(); }); });
    var served = location.protocol.indexOf('http') === 0 && /^\/reports\/[^/.]+$/.test(location.pathname);
    document.querySelectorAll('[data-suffix]').forEach(function (link) {
      link.hidden = !served;
      link.href = location.pathname + link.dataset.suffix;
    });
    if (served) { linkRequests(); }
    follow();
  }

  function linkRequests() {
    document.querySelectorAll('[data-request]').forEach(function (code) {
      var link = document.createElement('a');
      link.href = '/requests/' + encodeURIComponent(code.textContent);
      code.removeAttribute('data-request');
      code.replaceWith(link);
      link.append(code);
    });
  }

  ready();
  openTarget();
  draw(false);
  dark.addEventListener('change', function () { draw(false); });
  var wide = innerWidth, waiting = 0;
  addEventListener('resize', function () {
    clearTimeout(waiting);
    waiting = setTimeout(function () { if (innerWidth !== wide) { wide = innerWidth; draw(false); } }, 200);
  });
  addEventListener('hashchange', openTarget);
  addEventListener('beforeprint', function () {
    document.querySelectorAll('details.act').forEach(function (item) { item.open = true; });
    draw(true);
  });
  addEventListener('afterprint', function () { draw(false); });
})();
