/* Sends files with their progress in bytes, follows their reading by server-sent events, makes reports,
   and shows what holds once the last file is read. Asks nobody but its own server. */
(function () {
  'use strict';
  var words = JSON.parse(document.getElementById('words').textContent);
  var drop = document.getElementById('drop');
  var files = document.getElementById('files');
  var list = document.getElementById('ups');
  var says = document.getElementById('drop-says');
  var idle = says.cloneNode(true);
  var waiting = [];
  var sending = false;
  var reading = 0;
  var stale = false;

  function fill(sentence, values) {
    return sentence.replace(/\{(\w+)\}/g, function (_, name) { return values[name]; });
  }
  function count(n) { return (n === null || n === undefined) ? '–' : n.toLocaleString('en-US'); }
  function size(bytes) {
    var units = ['B', 'kB', 'MB', 'GB'];
    var at = 0;
    while (bytes >= 1000 && at < units.length - 1) { bytes /= 1000; at += 1; }
    return (at ? bytes.toPrecision(3) : String(bytes)) + ' ' + units[at];
  }

  function line(name) {
    var item = document.createElement('li');
    item.innerHTML = '<div class="name"><strong></strong> <span class="note state"></span></div><div class="num note figures"></div>' +
      '<div class="prog" role="progressbar" aria-valuemin="0" aria-valuemax="100"><i></i></div><button type="button" class="btn"></button>';
    item.querySelector('strong').textContent = name;
    item.querySelector('.prog').setAttribute('aria-label', name);
    item.querySelector('button').textContent = words.stop;
    list.append(item);
    var nothing = document.getElementById('nothing');
    if (nothing) { nothing.remove(); }
    return item;
  }
  function state(item, text) { item.querySelector('.state').textContent = text; }
  function figures(item, text) { item.querySelector('.figures').textContent = text; }
  function progress(item, share, pulse) {
    var bar = item.querySelector('.prog');
    bar.setAttribute('aria-valuenow', String(Math.round(share * 100)));
    bar.firstElementChild.style.setProperty('--w', (share * 100).toFixed(1) + '%');
    bar.firstElementChild.classList.toggle('pulse', Boolean(pulse));
  }
  function button(item, action) {
    var old = item.querySelector('button');
    var fresh = old.cloneNode(true);
    if (action) { fresh.addEventListener('click', action); } else { fresh.hidden = true; }
    old.replaceWith(fresh);
  }
  function close(item, text, tone) {
    state(item, text);
    item.querySelector('.prog').remove();
    button(item, null);
    item.dataset.ended = tone || 'done';
  }
  function problem(item, text) {
    var box = document.createElement('p');
    box.className = 'msg bad';
    box.textContent = text;
    item.append(box);
    figures(item, '');
    close(item, words.failed, 'failed');
  }

  function send(file) {
    var item = line(file.name);
    var began = performance.now();
    var ask = new XMLHttpRequest();
    state(item, words.uploading);
    ask.open('PUT', '/api/v1/uploads/' + encodeURIComponent(file.name));
    ask.upload.addEventListener('progress', function (event) {
      var passed = (performance.now() - began) / 1000;
      var rate = passed > 0 ? event.loaded / passed : 0;
      var left = rate > 0 ? Math.ceil((file.size - event.loaded) / rate) : 0;
      progress(item, file.size ? event.loaded / file.size : 1, false);
      figures(item, fill(words.bytes, {done: size(event.loaded), total: size(file.size), rate: size(Math.round(rate)), left: left}));
    });
    ask.addEventListener('load', function () {
      next();
      if (ask.status === 202) { follow(item, JSON.parse(ask.responseText).id); } else { problem(item, reason(ask.responseText, ask.status)); }
    });
    ask.addEventListener('error', function () { problem(item, words.offline); next(); });
    ask.addEventListener('abort', function () { figures(item, ''); close(item, words.stopped); next(); });
    button(item, function () { ask.abort(); });
    ask.send(file);
  }

  function reason(text, status) {
    try {
      var told = JSON.parse(text);
      return [told.detail || told.title, told.hint].filter(Boolean).join(' ');
    } catch (error) {
      return String(status);
    }
  }

  function next() {
    var file = waiting.shift();
    sending = Boolean(file);
    if (file) { send(file); } else { freshen(); }
  }

  function take(chosen) {
    Array.prototype.push.apply(waiting, chosen);
    if (!sending) { next(); }
  }

  function follow(item, id) {
    var events = new EventSource('/api/v1/uploads/' + encodeURIComponent(id) + '/events');
    reading += 1;
    function end() { events.close(); reading -= 1; stale = true; freshen(); }
    state(item, words.waiting);
    button(item, function () {
      fetch('/api/v1/uploads/' + encodeURIComponent(id), {method: 'DELETE'}).then(function () { end(); figures(item, ''); close(item, words.stopped); });
    });
    events.addEventListener('progress', function (event) {
      var view = JSON.parse(event.data);
      var job = view.progress || {};
      state(item, view.state === 'waiting' ? words.waiting : words.reading + '. ' + words.close);
      progress(item, job.total_bytes ? job.done_bytes / job.total_bytes : 0, true);
      figures(item, fill(words.counts, {read: count(job.read === undefined ? view.read : job.read), rejected: count(job.rejected === undefined ? view.rejected : job.rejected)}));
    });
    events.addEventListener('receipt', function (event) {
      var view = JSON.parse(event.data);
      end();
      if (view.state !== 'done') { problem(item, view.message || view.state); return; }
      figures(item, fill(words.sum, {read: count(view.read), accepted: count(view.accepted), duplicate: count(view.duplicate), rejected: count(view.rejected)}));
      close(item, view.rejected ? fill(words.rejects, {n: count(view.rejected)}) : words.done);
    });
  }

  ['dragenter', 'dragover'].forEach(function (name) {
    drop.addEventListener(name, function (event) {
      event.preventDefault();
      drop.classList.add('over');
      says.textContent = words.drop;
    });
  });
  ['dragleave', 'drop'].forEach(function (name) {
    drop.addEventListener(name, function (event) {
      event.preventDefault();
      drop.classList.remove('over');
      says.replaceChildren.apply(says, Array.prototype.slice.call(idle.cloneNode(true).childNodes));
    });
  });
  drop.addEventListener('drop', function (event) { take(event.dataTransfer.files); });
  files.addEventListener('change', function () { take(files.files); files.value = ''; });
  list.querySelectorAll('[data-upload]').forEach(function (item) { follow(item, item.dataset.upload); });

  /* The parts that a new file changes, fetched anew; the files above them keep their states. */
  function freshen() {
    var making = document.querySelector('#make[disabled]');
    if (!stale || sending || reading || making) { return; }
    stale = false;
    fetch(location.pathname, {cache: 'no-store'}).then(function (answer) {
      if (!answer.ok) { throw new Error(String(answer.status)); }
      return answer.text();
    }).then(function (text) {
      var fresh = new DOMParser().parseFromString(text, 'text/html');
      document.querySelectorAll('[data-fresh]').forEach(function (part) {
        var next = fresh.querySelector('[data-fresh="' + part.dataset.fresh + '"]');
        if (next) { part.replaceWith(document.importNode(next, true)); }
      });
      offer();
    }).catch(function () { stale = true; });
  }

  function offer() {
    var make = document.getElementById('make');
    if (make) { make.addEventListener('click', function () { report(make); }); }
  }

  function report(make) {
    var told = document.getElementById('made');
    make.disabled = true;
    told.hidden = false;
    told.className = 'msg';
    told.textContent = words.making;
    fetch('/api/v1/reports', {method: 'POST'}).then(function (answer) {
      if (answer.status === 201) { location.assign(answer.headers.get('location')); return null; }
      return answer.text().then(function (text) { throw new Error(reason(text, answer.status)); });
    }).catch(function (error) {
      make.disabled = false;
      told.className = 'msg bad';
      told.textContent = fill(words.problem, {why: error.message});
      freshen();
    });
  }

  offer();
})();
